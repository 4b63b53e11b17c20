/*
 * Lists the agent programs: if each is installed, and which of its features we support.
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

struct engine_entry {
    enum agent_engine engine;
    struct agent_facts facts;
    const char *program; /* the default or configured program; NULL: none */
    bool is_found;
    size_t job; /* index of its --version job */
};

struct engine_list {
    struct engine_entry v[ENGINES_MAX];
    size_t n, job_count;
    struct proc_job jobs[ENGINES_MAX];
};

static void find_all(struct engine_list *l, const struct config *config)
{
    for (int e = 1; engine_words[e] && l->n < ENGINES_MAX; e++) {
        struct engine_entry f = {.engine = (enum agent_engine)e,
                                 .facts = agent_facts((enum agent_engine)e)};
        f.program = f.facts.program && config->programs[e] ? config->programs[e] : f.facts.program;
        f.is_found = !f.program || spawn_finds(f.program);
        if (f.facts.program && f.is_found) {
            f.job = l->job_count;
            l->jobs[l->job_count] = (struct proc_job)PROC_JOB_INIT;
            strv_pushl(&l->jobs[l->job_count++].argv, f.program, "--version", NULL);
        }
        l->v[l->n++] = f;
    }
}

/* Appends only the number of "2.1.197 (Claude Code)", or nothing if there is none. */
static void add_version(const struct engine_list *l, const struct engine_entry *f, struct buf *out)
{
    if (!f->facts.program || !f->is_found || l->jobs[f->job].status != 0)
        return;
    const char *s = l->jobs[f->job].out.s + strcspn(l->jobs[f->job].out.s, "0123456789");
    size_t len = strspn(s, "0123456789.-+abcdefghijklmnopqrstuvwxyz");
    while (len && s[len - 1] == '.') /* "GitHub Copilot CLI 1.0.102." */
        len--;
    text_harmless(out, s, len < VERSION_MAX ? len : VERSION_MAX);
}

static void add_row(const struct engine_list *l, const struct engine_entry *f, struct buf *out)
{
    autobuf struct buf version = BUF_INIT;
    add_version(l, f, &version);
    const char *state = !f->facts.program ? "built in" : !f->is_found ? "not found" : "installed";
    buf_addf(out, "%-9s  %-9s  %-12s  %-5s  %-8s  %s%s\n", engine_words[f->engine], state,
             version.s, f->facts.speaks ? "yes" : "no", f->facts.continues ? "yes" : "no",
             agent_has_personas(f->engine) ? "yes" : "no",
             agent_is_untested(f->engine) ? "  untested, written from its documentation" : "");
}

static void add_json(const struct engine_list *l, const struct engine_entry *f, struct buf *out)
{
    autoarena struct arena a = {0};
    struct node *map = node_new_map(&a);
    autobuf struct buf version = BUF_INIT;
    add_version(l, f, &version);
    node_put_string(&a, map, "engine", engine_words[f->engine]);
    node_put_string(&a, map, "program", f->program);
    node_put_bool(&a, map, "found", f->is_found);
    node_put_string(&a, map, "version", version.len ? version.s : NULL);
    node_put_bool(&a, map, "understood", f->facts.speaks);
    node_put_bool(&a, map, "sessions", f->facts.continues);
    node_put_bool(&a, map, "personas", agent_has_personas(f->engine));
    node_put_bool(&a, map, "tested", !agent_is_untested(f->engine));
    doc_write_whole_line(out, map);
}

static int print_engines(struct engine_list *l, bool json)
{
    autobuf struct buf out = BUF_INIT;
    struct err err = {0};
    if (capture_many(l->jobs, l->job_count, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    if (!json)
        buf_addf(&out, "%-9s  %-9s  %-12s  %-5s  %-8s  %s\n", "engine", "", "version", "tells",
                 "sessions", "personas");
    for (size_t i = 0; i < l->n; i++)
        (json ? add_json : add_row)(l, &l->v[i], &out);
    return cli_print(out.s, out.len);
}

/* Reads the configuration of the repository, if we are in one, and the user's. */
static int open_config(struct config_file *cf)
{
    autorepo struct git_repo repo = {0};
    struct err err = {0};
    const char *root = git_open(&repo, ".", NULL) ? NULL : repo.root;
    return config_file_open(cf, root, NULL, &err) ? cli_fail(EXIT_USAGE, "%s", err.msg) : EXIT_OK;
}

static int run_engines(const void *options, char **argv)
{
    const struct engines_opts *opts = options;
    struct engine_list l = {0};
    (void)argv;
    autoconfig struct config_file cf = {0};
    int code = open_config(&cf);
    if (code != EXIT_OK)
        return code;
    find_all(&l, &cf.config);
    code = print_engines(&l, opts->json);
    for (size_t i = 0; i < l.job_count; i++)
        proc_job_done(&l.jobs[i]);
    return code;
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct engines_opts, json), NULL, NULL,
     "Print one engine per line, as JSON"},
    {0},
};

const struct command cmd_engines = {
    .name = "engines",
    .summary = "List the supported agent programs, and which are installed",
    .about =
        "For each engine: is its program found; its version; can anabranch read its progress "
        "and usage while it works (tells); can an interrupted session be resumed; can a task's "
        "'agent' choose a persona.",
    .examples = "anabranch engines\tList the installed engines\n",
    .opts = opts_table,
    .options_size = sizeof(struct engines_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_engines,
};
