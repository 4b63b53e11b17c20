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

/* What every action works on. */
struct place {
    struct git_repo repo;
    struct git_place at;
    struct salvages all;
};

static void place_close(struct place *p)
{
    salvages_done(&p->all);
    git_close(&p->repo);
}

/* We show the rest where something cannot be restored. */
static void mend(const struct place *p)
{
    autostrv struct strv mended = {0};
    struct err err = {0};
    if (vault_mend(&p->at, NULL, &mended, &err))
        (void)fprintf(stderr, "anabranch: %s\n", err.msg);
    for (size_t i = 0; i < mended.n; i++)
        (void)fprintf(stderr,
                      "anabranch: another program had deleted or moved %s: it is restored\n",
                      mended.v[i]);
}

static int place_open(struct place *p)
{
    struct err err = {0};
    *p = (struct place){0};
    if (git_open(&p->repo, ".", &err))
        return cli_fail_by(&err);
    if (!p->repo.root)
        return cli_fail(EXIT_ENV, "this is not a git repository");
    p->at = (struct git_place){.git_dir = p->repo.common};
    if (lookup_with_its_git(&p->repo, &err))
        return cli_fail_by(&err);
    mend(p);
    return salvages_load(&p->all, &p->at, &err) ? cli_fail_by(&err) : EXIT_OK;
}

/* --- list --------------------------------------------------------------------------------- */

static struct node *encode(const struct salvage *s, struct arena *a)
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
    struct arena a = {0};
    doc_write_line(out, encode(s, &a));
    buf_addch(out, '\n');
    arena_done(&a);
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
        buf_addstr(out, "  ");
        text_add_harmless(out, s->why);
        buf_cut(out, start + text_fit(out->s + start, out->len - start, 200));
    }
    buf_addch(out, '\n');
}

static int list(struct place *p, const struct salvage_opts *opts, char **words)
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
        buf_addstr(&out, "Nothing is salvaged.\n");
    return cli_print(out.s, out.len);
}

/* --- show --------------------------------------------------------------------------------- */

/* In front of a diff that can still be given to `git apply`. */
static void add_head(const struct salvage *s, struct buf *out)
{
    autobuf struct buf time = BUF_INIT;
    timestamp_format(&time, s->time);
    buf_addf(out, "Salvaged: %s\nCommit:   %s\nWhen:     %.10s %.5s UTC\n", s->id, s->commit,
             time.s, time.s + strlen("2026-03-01T"));
    if (*s->why) {
        buf_addstr(out, "Why:      ");
        text_add_harmless(out, s->why);
        buf_addch(out, '\n');
    }
    if (s->nested)
        buf_addf(out, "Inside:   %zu repositor%s, which 'anabranch salvage restore' makes again\n",
                 s->nested, s->nested == 1 ? "y" : "ies");
    if (s->strays)
        buf_addf(out, "Also:     commits that no branch leads to: git log %.12s^@\n", s->strays);
    buf_addch(out, '\n');
}

static int show(struct place *p, const struct salvage_opts *opts, char **words)
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

/* --- restore ------------------------------------------------------------------------------ */

/* Beside the checkout: "../project-task-2". */
static char *beside(const struct place *p, const struct salvage *s)
{
    const char *task = strchr(s->id, '/');
    char *dir = mem_printf("%s-%s", p->repo.root, task ? task + 1 : s->id);
    for (char *c = dir + strlen(p->repo.root); *c; c++)
        *c = *c == '/' ? '-' : *c;
    return dir;
}

static char *absolute(const char *dir)
{
    autofree char *here = getcwd(NULL, 0);
    return *dir == '/' || !here ? mem_str(dir) : mem_printf("%s/%s", here, dir);
}

static int restore(struct place *p, const struct salvage_opts *opts, char **words)
{
    const struct salvage *s;
    struct err err = {0};
    autobuf struct buf out = BUF_INIT;
    if (salvages_find(&p->all, words[0], &s, &err))
        return cli_fail_by(&err);
    autofree char *dir = words[1] ? absolute(words[1]) : beside(p, s);
    autofree char *branch = opts->branch ? mem_str(opts->branch) : mem_printf("salvage/%s", s->id);
    if (salvage_restore(s, &p->at, dir, branch, &err))
        return cli_fail_by(&err);
    buf_addf(&out, "%s is in ", s->id);
    text_add_harmless(&out, dir);
    buf_addf(&out, ", on the branch %s\n", branch);
    return cli_print(out.s, out.len);
}

/* --- drop --------------------------------------------------------------------------------- */

static const struct salvage *exact(const struct place *p, const char *id)
{
    for (size_t i = 0; i < p->all.list.n; i++) {
        if (strcmp(p->all.list.v[i].id, id) == 0)
            return &p->all.list.v[i];
    }
    return NULL;
}

static int drop_one(struct place *p, const struct salvage *s)
{
    struct err err = {0};
    autobuf struct buf out = BUF_INIT;
    autostrv struct strv was = {0};
    if (salvage_drop(s, &p->at, &was, &err))
        return cli_fail_by(&err);
    buf_addf(&out, "Dropped %s; to have it back:\n", s->id);
    for (size_t i = 0; i < was.n; i++)
        buf_addf(&out, "  git update-ref %s\n", was.v[i]);
    return cli_print(out.s, out.len);
}

/* The branch that a run was to land on. */
struct base_of {
    const char *run;
    size_t len;
    char *base;
};

static bool take_base(void *ctx, const struct store_run *run)
{
    struct base_of *b = ctx;
    if (strlen(run->id) != b->len || strncmp(run->id, b->run, b->len) != 0)
        return true;
    b->base = run->base ? mem_printf("refs/heads/%s", run->base) : NULL;
    return false;
}

/* Where it is not known any more it is what is checked out here. */
static int find_base(struct place *p, struct store *store, const struct salvage *s, struct buf *ret,
                     struct err *err)
{
    struct base_of b = {s->id, strcspn(s->id, "/"), NULL};
    struct git_place here = {.git_dir = p->repo.git_dir, .common = p->repo.common};
    if (store && store_each_run(store, take_base, &b, err))
        return -1;
    autofree char *base = b.base;
    struct err none = {0};
    if (base && git_resolve(&p->at, base, ret, &none) == 0)
        return 0;
    return git_resolve(&here, "HEAD", ret, err);
}

static int drop_merged(struct place *p)
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

static int drop(struct place *p, const struct salvage_opts *opts, char **words)
{
    for (size_t i = 0; words[i]; i++) {
        if (!exact(p, words[i]))
            return cli_fail(EXIT_USAGE,
                            "nothing is salvaged as '%s': to drop it needs the whole id", words[i]);
    }
    for (size_t i = 0; words[i]; i++) {
        int code = drop_one(p, exact(p, words[i]));
        if (code != EXIT_OK)
            return code;
    }
    return opts->merged ? drop_merged(p) : EXIT_OK;
}

/* --- the command -------------------------------------------------------------------------- */

static const char *const actions[] = {"list", "show", "restore", "drop", NULL};

static const struct action {
    int (*run)(struct place *, const struct salvage_opts *, char **);
    int min, max; /* words behind it; max -1: any number */
    const char *usage;
} table[] = {
    {list, 0, 0, "'list' takes no ID"},
    {show, 1, 1, "'show' needs one ID"},
    {restore, 1, 2, "'restore' needs an ID, and takes a folder"},
    {drop, 0, -1, "'drop' needs an ID, or --merged"},
};

static int run_salvage(const void *options, int argc, char **argv)
{
    const struct salvage_opts *opts = options;
    size_t which = 0;
    while (argc && strcmp(actions[which], argv[0]) != 0)
        which++;
    const struct action *action = &table[which];
    int words = argc ? argc - 1 : 0;
    if (words < action->min || (action->max >= 0 && words > action->max) ||
        (action->run == drop && !words && !opts->merged))
        return cli_usage(&cmd_salvage, "%s", action->usage);
    if (opts->merged && action->run != drop)
        return cli_usage(&cmd_salvage, "--merged is for 'drop'");
    if (opts->branch && action->run != restore)
        return cli_usage(&cmd_salvage, "--branch is for 'restore'");
    own_cleanup(place_close) struct place place;
    int code = place_open(&place);
    return code == EXIT_OK ? action->run(&place, opts, argv + (argc > 0)) : code;
}

static const struct opt opts_table[] = {
    {"json", 0, OPT_FLAG, offsetof(struct salvage_opts, json), NULL, NULL,
     "With list and show: print one per line, as JSON"},
    {"branch", 'b', OPT_STRING, offsetof(struct salvage_opts, branch), "NAME", NULL,
     "With restore: call the new branch this, instead of salvage/ID"},
    {"merged", 0, OPT_FLAG, offsetof(struct salvage_opts, merged), NULL, NULL,
     "With drop: all whose changes are in the branch that they were meant for"},
    {0},
};

static const struct arg args[] = {
    {.name = "ACTION",
     .help = "What to do: list (without it, too), show, restore or drop",
     .optional = true,
     .choices = actions},
    {.name = "ID",
     .help = "RUN/TASK/ATTEMPT as listed, or a part of it that no other has; with restore, a "
             "folder to make behind it; with drop, one or more whole ones",
     .optional = true,
     .repeatable = true},
    {0},
};

static const enum exit_code exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const struct command cmd_salvage = {
    .name = "salvage",
    .summary = "Show, restore or drop what was saved of attempts that failed",
    .about =
        "Whatever an attempt leaves in its workspace is saved in the repository before the "
        "workspace goes: changed and new files, commits that no branch leads to, repositories "
        "that were made inside, and of the ignored files those that the plan lists "
        "(workspace.salvage). Where that is more than limits.change allows, the smallest files are "
        "saved, and the workspace stays with the rest.\n"
        "Each of these is also kept as a bundle in .git/anabranch/vault. Where another program, "
        "such as an agent, has deleted or moved the refs, the run, 'anabranch resume' and this "
        "command "
        "restore them from there and say so; only drop removes them for good.\n"
        "restore makes a new worktree of it, beside the checkout unless a folder is named, on a "
        "new branch, and overwrites nothing. drop asks nothing, and prints what brings it back as "
        "long as git has not collected it.",
    .examples = "anabranch salvage\tWhat there is, the newest first\n"
                "anabranch salvage show auth\tWhat the task auth had done\n"
                "anabranch salvage restore auth/2\tIts second attempt, as a worktree\n"
                "anabranch salvage drop --merged\tForget what has landed since\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct salvage_opts),
    .exits = exits,
    .see_also = "anabranch-plan(5)",
    .run = run_salvage,
};
