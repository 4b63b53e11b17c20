#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "base/text/timestamp.h"
#include "cli/common/git_exec.h"
#include "cli/common/lookup.h"
#include "cli/frame/cli.h"
#include "cli/frame/commands.h"
#include "doc/doc.h"
#include "git/git.h"
#include "git/state_paths.h"
#include "run/watch/other_runs.h"
#include "store/store.h"
#include "workspace/commit/salvage_list.h"
#include "workspace/commit/vault.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct salvage_opts {
    bool json, merged;
    const char *branch;
};

/* The repository and its saved work, for every action. */
struct salvage_context {
    struct git_repo repo;
    struct git_place at;
    struct salvages all;
};

static void close_context(struct salvage_context *p)
{
    salvages_done(&p->all);
    git_close(&p->repo);
}

/* Restores refs that another program has deleted. If that fails, we still show the other work. */
static void restore_refs(const struct salvage_context *p)
{
    autostrv struct strv restored = {0};
    struct err err = {0};
    if (vault_restore(&p->at, NULL, &restored, &err))
        (void)fprintf(stderr, "anabranch: %s\n", err.msg);
    for (size_t i = 0; i < restored.n; i++)
        (void)fprintf(stderr, "anabranch: another program had deleted or moved %s: restored\n",
                      restored.v[i]);
}

static int open_context(struct salvage_context *p)
{
    struct err err = {0};
    *p = (struct salvage_context){0};
    if (git_open(&p->repo, ".", &err))
        return cli_fail_by(&err);
    if (!p->repo.root)
        return cli_fail(EXIT_ENV, "this is not a git repository");
    p->at = (struct git_place){.git_dir = p->repo.common};
    if (lookup_with_its_git(&p->repo, &err))
        return cli_fail_by(&err);
    restore_refs(p);
    return salvages_load(&p->all, &p->at, &err) ? cli_fail_by(&err) : EXIT_OK;
}

static struct node *encode_salvage(const struct salvage *s, struct arena *a)
{
    struct node *map = node_new_map(a);
    autobuf struct buf time = BUF_INIT;
    autofree char *ref = mem_printf(SALVAGE_REFS "%s", s->id);
    timestamp_format(&time, s->time);
    node_put_string(a, map, "id", s->id);
    node_put_string(a, map, "ref", ref);
    node_put_string(a, map, "commit", s->commit);
    node_put_string(a, map, "from", s->from);
    node_put_string(a, map, "time", time.s);
    node_put_string(a, map, "why", s->why);
    node_put_int(a, map, "files", s->files);
    node_put_int(a, map, "added", s->added);
    node_put_int(a, map, "removed", s->removed);
    node_put_int(a, map, "nested", (int64_t)s->nested);
    node_put_string(a, map, "strays", s->strays);
    return map;
}

static void add_json(const struct salvage *s, struct buf *out)
{
    autoarena struct arena a = {0};
    doc_write_whole_line(out, encode_salvage(s, &a));
}

static void add_size(const struct salvage *s, struct buf *out)
{
    buf_addf(out, "%" PRId64 " file%s +%" PRId64 " -%" PRId64, s->files, s->files == 1 ? "" : "s",
             s->added, s->removed);
    if (s->nested)
        buf_addf(out, ", %zu repositor%s", s->nested, s->nested == 1 ? "y" : "ies");
    if (s->strays)
        buf_addstr(out, ", other commits");
}

static void add_line(const struct salvage *s, size_t width, struct buf *out)
{
    autobuf struct buf time = BUF_INIT, size = BUF_INIT;
    timestamp_format(&time, s->time); /* 2026-03-01T12:00:00.123Z */
    time.s[strlen("2026-03-01")] = ' ';
    add_size(s, &size);
    buf_addf(out, "%-*s  %.16s  %-18s", (int)width, s->id, time.s, size.s);
    if (*s->why) {
        size_t start = out->len + 2;
        text_addf(out, "  %s", s->why);
        buf_cut(out, start + text_fit(out->s + start, out->len - start, 200));
    }
    buf_addch(out, '\n');
}

static int list_salvages(struct salvage_context *p, const struct salvage_opts *opts, char **words)
{
    autobuf struct buf out = BUF_INIT;
    size_t width = 0;
    (void)words;
    for (size_t i = 0; i < p->all.list.n; i++)
        width = strlen(p->all.list.v[i].id) > width ? strlen(p->all.list.v[i].id) : width;
    for (size_t i = 0; i < p->all.list.n; i++) {
        if (opts->json)
            add_json(&p->all.list.v[i], &out);
        else
            add_line(&p->all.list.v[i], width, &out);
    }
    if (!p->all.list.n && !opts->json)
        buf_addstr(&out, "There is no saved work.\n");
    return cli_print(out.s, out.len);
}

/* Appends the head before the diff. `git apply` still accepts the whole output. */
static void add_head(const struct salvage *s, struct buf *out)
{
    autobuf struct buf time = BUF_INIT;
    timestamp_format(&time, s->time);
    buf_addf(out, "Salvaged: %s\nCommit:   %s\nWhen:     %.10s %.5s UTC\n", s->id, s->commit,
             time.s, time.s + strlen("2026-03-01T"));
    if (*s->why) {
        text_addf(out, "Why:      %s", s->why);
        buf_addch(out, '\n');
    }
    if (s->nested)
        buf_addf(out, "Inside:   %zu repositor%s, which 'anabranch salvage restore' restores too\n",
                 s->nested, s->nested == 1 ? "y" : "ies");
    if (s->strays)
        buf_addf(out, "Also:     commits that are on no branch: git log %.12s^@\n", s->strays);
    buf_addch(out, '\n');
}

static int show_salvage(struct salvage_context *p, const struct salvage_opts *opts, char **words)
{
    const struct salvage *s;
    autobuf struct buf out = BUF_INIT;
    autostrv struct strv args = {0};
    struct err err = {0};
    if (salvages_find(&p->all, words[0], &s, &err))
        return cli_fail_by(&err);
    if (opts->json)
        add_json(s, &out);
    else
        add_head(s, &out);
    int code = cli_print(out.s, out.len);
    if (code != EXIT_OK || opts->json)
        return code;
    strv_pushl(&args, "diff", "--stat", "--patch", "--end-of-options", s->from, s->commit, "--",
               NULL);
    return git_exec(&p->repo, &args, NULL);
}

/* The default is beside the checkout: "../project-task-2". */
static char *get_default_folder(const struct salvage_context *p, const struct salvage *s)
{
    const char *task = strchr(s->id, '/');
    char *dir = mem_printf("%s-%s", p->repo.root, task ? task + 1 : s->id);
    for (char *c = dir + strlen(p->repo.root); *c; c++)
        *c = *c == '/' ? '-' : *c;
    return dir;
}

static char *make_absolute(const char *dir)
{
    autofree char *here = getcwd(NULL, 0);
    return *dir == '/' || !here ? mem_str(dir) : mem_printf("%s/%s", here, dir);
}

/* A live run should not take the worktree for a change of its agents. */
static int note_worktree(const struct salvage_context *p, const char *dir, const char *branch,
                         struct err *err)
{
    autofree char *state = state_path(p->repo.common);
    autofree char *ref = mem_printf("refs/heads/%s", branch);
    autostore struct store *store = NULL;
    struct err none = {0};
    return store_open(&store, state, false, &none) ? 0
                                                   : other_runs_note(store, state, dir, ref, err);
}

static int restore_salvage(struct salvage_context *p, const struct salvage_opts *opts, char **words)
{
    const struct salvage *s;
    struct err err = {0};
    autobuf struct buf out = BUF_INIT;
    if (salvages_find(&p->all, words[0], &s, &err))
        return cli_fail_by(&err);
    autofree char *dir = words[1] ? make_absolute(words[1]) : get_default_folder(p, s);
    autofree char *branch = opts->branch ? mem_str(opts->branch) : mem_printf("salvage/%s", s->id);
    if (note_worktree(p, dir, branch, &err) || salvage_restore(s, &p->at, dir, branch, &err))
        return cli_fail_by(&err);
    text_addf(&out, "%s is in %s", s->id, dir);
    buf_addf(&out, ", on the branch %s\n", branch);
    return cli_print(out.s, out.len);
}

static const struct salvage *find_exact(const struct salvage_context *p, const char *id)
{
    for (size_t i = 0; i < p->all.list.n; i++) {
        if (strcmp(p->all.list.v[i].id, id) == 0)
            return &p->all.list.v[i];
    }
    return NULL;
}

static int drop_one(struct salvage_context *p, const struct salvage *s)
{
    struct err err = {0};
    autobuf struct buf out = BUF_INIT;
    autostrv struct strv was = {0};
    if (salvage_drop(s, &p->at, &was, &err))
        return cli_fail_by(&err);
    buf_addf(&out, "Dropped %s; to restore it:\n", s->id);
    for (size_t i = 0; i < was.n; i++)
        buf_addf(&out, "  git update-ref %s\n", was.v[i]);
    return cli_print(out.s, out.len);
}

/* The branch that a run lands on. */
struct run_base {
    const char *run;
    size_t len;
    char *base;
};

static bool find_run_base(void *ctx, const struct store_run *run)
{
    struct run_base *b = ctx;
    if (strlen(run->id) != b->len || strncmp(run->id, b->run, b->len) != 0)
        return true;
    b->base = run->base ? mem_printf("refs/heads/%s", run->base) : NULL;
    return false;
}

/* Finds the base of the run. If the store does not know it, we use HEAD. */
static int find_base(struct salvage_context *p, struct store *store, const struct salvage *s,
                     struct buf *ret, struct err *err)
{
    struct run_base b = {s->id, strcspn(s->id, "/"), NULL};
    struct git_place here = {.git_dir = p->repo.git_dir, .common = p->repo.common};
    if (store && store_each_run(store, find_run_base, &b, err))
        return -1;
    autofree char *base = b.base;
    struct err none = {0};
    if (base && git_resolve(&p->at, base, ret, &none) == 0)
        return 0;
    return git_resolve(&here, "HEAD", ret, err);
}

static int drop_merged(struct salvage_context *p)
{
    autofree char *state = state_path(p->repo.common);
    autostore struct store *store = NULL;
    struct err err = {0}, none = {0};
    (void)store_open(&store, state, false, &none);
    for (size_t i = 0; i < p->all.list.n; i++) {
        const struct salvage *s = &p->all.list.v[i];
        autobuf struct buf base = BUF_INIT;
        bool merged;
        if (find_base(p, store, s, &base, &err) ||
            salvage_is_merged(s, &p->at, base.s, &merged, &err))
            return cli_fail_by(&err);
        int code = merged ? drop_one(p, s) : EXIT_OK;
        if (code != EXIT_OK)
            return code;
    }
    return EXIT_OK;
}

static int drop_salvages(struct salvage_context *p, const struct salvage_opts *opts, char **words)
{
    for (size_t i = 0; words[i]; i++) {
        if (!find_exact(p, words[i]))
            return cli_fail(EXIT_USAGE, "there is no saved work '%s': 'drop' needs the whole id",
                            words[i]);
    }
    for (size_t i = 0; words[i]; i++) {
        int code = drop_one(p, find_exact(p, words[i]));
        if (code != EXIT_OK)
            return code;
    }
    return opts->merged ? drop_merged(p) : EXIT_OK;
}

static const char *const actions[] = {"list", "show", "restore", "drop", NULL};

static const struct action {
    int (*run)(struct salvage_context *, const struct salvage_opts *, char **);
    int min, max; /* number of arguments; max -1: any number */
    const char *usage;
} table[] = {
    {list_salvages, 0, 0, "'list' takes no ID"},
    {show_salvage, 1, 1, "'show' needs one ID"},
    {restore_salvage, 1, 2, "'restore' needs an ID, and takes a folder"},
    {drop_salvages, 0, -1, "'drop' needs an ID, or --merged"},
};

static int count_words(char **words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

static int run_salvage(const void *options, char **argv)
{
    const struct salvage_opts *opts = options;
    size_t which = 0;
    while (argv[0] && strcmp(actions[which], argv[0]) != 0)
        which++;
    const struct action *action = &table[which];
    char **words = argv + (argv[0] != NULL);
    int count = count_words(words);
    if (count < action->min || (action->max >= 0 && count > action->max) ||
        (action->run == drop_salvages && !count && !opts->merged))
        return cli_usage(&cmd_salvage, "%s", action->usage);
    if (opts->merged && action->run != drop_salvages)
        return cli_usage(&cmd_salvage, "--merged is for 'drop'");
    if (opts->branch && action->run != restore_salvage)
        return cli_usage(&cmd_salvage, "--branch is for 'restore'");
    own_cleanup(close_context) struct salvage_context context;
    int code = open_context(&context);
    return code == EXIT_OK ? action->run(&context, opts, words) : code;
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct salvage_opts, json), NULL, NULL,
     "With list and show: print one per line, as JSON"},
    {"branch", 'b', OPT_STRING, offsetof(struct salvage_opts, branch), "NAME", NULL,
     "With restore: call the new branch this, instead of salvage/ID"},
    {"merged", 0, OPT_FLAG, offsetof(struct salvage_opts, merged), NULL, NULL,
     "With drop: everything that is already in its target branch"},
    {0},
};

static const struct arg args[] = {
    {.name = "ACTION", .help = "The action (default: list)", .optional = true, .choices = actions},
    {.name = "ID",
     .help = "RUN/TASK/ATTEMPT as listed, or a unique part of it; with restore, followed by a new "
             "folder; with drop, one or more whole ids",
     .optional = true,
     .repeatable = true},
    {0},
};

const struct command cmd_salvage = {
    .name = "salvage",
    .summary = "Show, restore or drop the saved work of failed attempts",
    .about =
        "Before anabranch removes a workspace, it saves the work of the attempt in the "
        "repository: changed and new files, commits that are on no branch, repositories that "
        "were made inside, and the ignored files that the plan lists (workspace.salvage). If "
        "that is more than limits.change allows and git has not stored it yet, anabranch saves "
        "the smallest files, and keeps the workspace with the rest.\n\n"
        "anabranch also keeps each saved work as a bundle in .git/anabranch/vault. If another "
        "program, such as an agent, has deleted or moved the refs, the run, 'anabranch resume' "
        "and this command restore them from there and say so; only drop removes them for good.\n\n"
        "restore makes a new worktree on a new branch, beside the checkout unless you name a "
        "folder, and overwrites nothing. drop asks no question, and prints the command that "
        "restores the work as long as git has not collected it.",
    .examples = "anabranch salvage\tList the saved work, newest first\n"
                "anabranch salvage show auth\tShow the saved work of the task auth\n"
                "anabranch salvage restore auth/2\tRestore its second attempt as a worktree\n"
                "anabranch salvage drop --merged\tDrop the work that has landed since\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct salvage_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-plan(5)",
    .run = run_salvage,
};
