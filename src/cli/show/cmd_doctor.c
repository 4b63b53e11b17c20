#include "base/node/node_build.h"
#include "base/text/text.h"
#include "clean/doctor.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "sys/self_exe.h"

#include <string.h>

struct doctor_opts {
    bool json;
};

static void add_line(const struct finding *f, struct buf *out)
{
    buf_addf(out, "%-4s%-21s ", verdict_words[f->verdict], f->what);
    text_harmless(out, f->why.s, f->why.len);
    buf_addch(out, '\n');
}

static void add_entry(const struct finding *f, struct arena *a, struct node *list)
{
    struct node *entry = node_add_map(a, list);
    node_put_string(a, entry, "name", f->name);
    node_put_string(a, entry, "verdict", verdict_words[f->verdict]);
    node_put_string(a, entry, "why", f->why.s);
    if (f->bytes < 0)
        return;
    node_put_int(a, entry, "count", f->count);
    node_put_int(a, entry, "bytes", f->bytes);
    if (f->partial)
        node_put_bool(a, entry, "partial", true);
}

static int run_doctor(const void *options, char **argv)
{
    const struct doctor_opts *opts = options;
    autobuf struct buf out = BUF_INIT;
    autoarena struct arena a = {0};
    struct node *root = node_new_map(&a), *list = node_put_list(&a, root, "findings");
    struct finding f;
    bool bad = false;
    (void)argv;
    for (size_t i = 0; doctor_examine(i, self_path(), &f); i++) {
        bad = bad || f.verdict == VERDICT_BAD;
        add_entry(&f, &a, list);
        if (!opts->json)
            add_line(&f, &out);
        finding_done(&f);
    }
    node_put_bool(&a, root, "ok", !bad);
    if (opts->json)
        doc_write_whole_line(&out, root);
    int code = cli_print(out.s, out.len);
    return code != EXIT_OK ? code : bad ? EXIT_ENV : EXIT_OK;
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct doctor_opts, json), NULL, NULL,
     "Print one JSON object with the findings: each has name, verdict and why; findings about disk "
     "space also have count and bytes"},
    {0},
};

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "Check the setup of this machine",
    .about =
        "Each finding is ok, no (anabranch uses something else instead, or not everyone needs "
        "it) or bad: then nothing can run, and the exit code is 3. The command changes nothing.\n\n"
        "It also shows the disk space that runs in this repository use (counted in blocks: "
        "blocks that files share, as in snapshots, count for each file), and the command that "
        "frees it.\n\n"
        "So that no process of an agent stays behind, anabranch keeps them together by the "
        "first method that works: a pid namespace, which ends all of them at once, even if "
        "everything else has been killed (without root it needs a user namespace, in which sudo "
        "and other setuid programs have no effect); a cgroup, which ends them at once; a "
        "subreaper, which ends them one by one; process groups. The environment variable "
        "ANABRANCH_CONTAIN chooses one: namespace, cgroup, subreaper or group.",
    .examples = "anabranch doctor\tCheck the setup, in your repository\n"
                "ANABRANCH_CONTAIN=subreaper anabranch run plan.md\tLet agents use sudo\n",
    .opts = opts_table,
    .options_size = sizeof(struct doctor_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_doctor,
};
