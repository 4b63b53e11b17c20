/*
 * The agent programs that can be used: which are there, and what of each is understood.
 */
#include "agent/agent.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "cli/frame/output.h"
#include "doc/doc.h"
#include "git/git.h"
#include "plan/words.h"
#include "project/config_file.h"
#include "sys/proc/capture_many.h"
#include "sys/proc/spawn.h"

#include <string.h>

struct engines_opts {
    bool json;
};

enum { ENGINES_MAX = 16, VERSION_MAX = 40 };

struct found {
    enum engine engine;
    struct agent_facts facts;
    const char *program; /* its own, or what the configuration names; NULL: none */
    bool there;
    size_t asked; /* its place among the questions */
};

struct list {
    struct found v[ENGINES_MAX];
    size_t n, asked;
    struct proc_job jobs[ENGINES_MAX];
};

static void find_all(struct list *l, const struct config *config)
{
    for (int e = 1; engine_words[e] && l->n < ENGINES_MAX; e++) {
        struct found f = {.engine = (enum engine)e, .facts = agent_facts((enum engine)e)};
        f.program = f.facts.program && config->programs[e] ? config->programs[e] : f.facts.program;
        f.there = !f.program || spawn_finds(f.program);
        if (f.facts.program && f.there) {
            f.asked = l->asked;
            l->jobs[l->asked] = (struct proc_job)PROC_JOB_INIT;
            strv_pushl(&l->jobs[l->asked++].argv, f.program, "--version", NULL);
        }
        l->v[l->n++] = f;
    }
}

/* "" where it does not say. The number alone, if there is one: "2.1.197 (Claude Code)". */
static void add_version(const struct list *l, const struct found *f, struct buf *out)
{
    if (!f->facts.program || !f->there || l->jobs[f->asked].status != 0)
        return;
    const char *s = l->jobs[f->asked].out.s + strcspn(l->jobs[f->asked].out.s, "0123456789");
    size_t len = strspn(s, "0123456789.-+abcdefghijklmnopqrstuvwxyz");
    while (len && s[len - 1] == '.') /* "GitHub Copilot CLI 1.0.102." */
        len--;
    text_harmless(out, s, len < VERSION_MAX ? len : VERSION_MAX);
}

static void add_row(const struct list *l, const struct found *f, struct buf *out)
{
    autobuf struct buf version = BUF_INIT;
    add_version(l, f, &version);
    const char *state = !f->facts.program ? "built in" : !f->there ? "not found" : "is there";
    buf_addf(out, "%-9s  %-9s  %-12s  %-5s  %-8s  %s%s\n", engine_words[f->engine], state,
             version.s, f->facts.speaks ? "yes" : "no", f->facts.continues ? "yes" : "no",
             agent_has_personas(f->engine) ? "yes" : "no",
             agent_is_untested(f->engine) ? "  by its documentation, untested" : "");
}

static void add_json(const struct list *l, const struct found *f, struct buf *out)
{
    struct arena a = {0};
    struct node *map = node_new_map(&a);
    autobuf struct buf version = BUF_INIT;
    add_version(l, f, &version);
    node_put_string(&a, map, "engine", engine_words[f->engine]);
    node_put_string(&a, map, "program", f->program);
    node_put_bool(&a, map, "found", f->there);
    node_put_string(&a, map, "version", version.len ? version.s : NULL);
    node_put_bool(&a, map, "understood", f->facts.speaks);
    node_put_bool(&a, map, "sessions", f->facts.continues);
    node_put_bool(&a, map, "personas", agent_has_personas(f->engine));
    node_put_bool(&a, map, "tested", !agent_is_untested(f->engine));
    doc_write_line(out, map);
    buf_addch(out, '\n');
    arena_done(&a);
}

static int show(struct list *l, bool json)
{
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    if (capture_many(l->jobs, l->asked, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (!json)
        buf_addf(&out, "%-9s  %-9s  %-12s  %-5s  %-8s  %s\n", "engine", "", "version", "tells",
                 "sessions", "personas");
    for (size_t i = 0; i < l->n; i++)
        (json ? add_json : add_row)(l, &l->v[i], &out);
    return cli_print(out.s, out.len);
}

/* That of the repository which this is in, if it is in one, and the user's. */
static int open_config(struct config_file *cf)
{
    struct git_repo repo = {0};
    struct err err = {0};
    int rc = git_open(&repo, ".", NULL) ? config_file_open(cf, NULL, NULL, &err)
                                        : config_file_open(cf, repo.root, NULL, &err);
    git_close(&repo);
    return rc ? cli_fail(EXIT_USAGE, "%s", err.msg) : EXIT_OK;
}

static int run_engines(const void *options, int argc, char **argv)
{
    const struct engines_opts *opts = options;
    struct list l = {0};
    (void)argc;
    (void)argv;
    autoconfig struct config_file cf = {0};
    int code = open_config(&cf);
    if (code != EXIT_OK)
        return code;
    find_all(&l, &cf.config);
    code = show(&l, opts->json);
    for (size_t i = 0; i < l.asked; i++)
        proc_job_done(&l.jobs[i]);
    return code;
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct engines_opts, json), NULL, NULL,
     "Print one engine per line, as JSON"},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_engines = {
    .name = "engines",
    .summary = "List the agent programs that can be used, and which are there",
    .about = "For each engine: whether its program is found, its version, whether what it does and "
             "uses is understood while it works (tells), whether a session that was interrupted "
             "can be taken up again, and whether a task's 'agent' can choose a persona.",
    .examples = "anabranch engines\tWhat is installed\n",
    .opts = opts_table,
    .options_size = sizeof(struct engines_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_engines,
};
