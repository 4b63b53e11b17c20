/*
 * Saves what is left of a task before we remove it.
 */
#include "clean/clean_private.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"
#include "git/state_paths.h"
#include "git/unsynced.h"
#include "plan/engine/limits/task_limits.h"
#include "sys/fs/file.h"
#include "workspace/commit/salvage_list.h"
#include "workspace/commit/vault.h"
#include "workspace/workspace_hold.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Finds the tip of the branch that the run landed on, or HEAD. */
static int find_base(const struct cleaner *c, const struct leftover_run *run, struct buf *ret,
                     struct err *err)
{
    const struct git_repo *repo = c->opts->repo;
    struct git_place here = {.git_dir = repo->git_dir, .common = repo->common};
    struct err ignored = {0};
    if (run->base && git_resolve(&c->at, run->base, ret, &ignored) == 0)
        return 0;
    return git_resolve(&here, "HEAD", ret, err);
}

int clean_is_merged(const struct cleaner *c, const struct leftover_run *run, const char *commit,
                    bool *ret_yes, struct err *err)
{
    autobuf struct buf base = BUF_INIT;
    struct salvage s = {.commit = (char *)commit};
    if (find_base(c, run, &base, err))
        return -1;
    return salvage_is_merged(&s, &c->at, base.s, ret_yes, err);
}

/* The first unused attempt number, starting with the last attempt. */
static int find_unused_attempt(const struct cleaner *c, const struct leftover_task *t)
{
    for (int k = t->attempts > 0 ? t->attempts : 1; k < INT_MAX; k++) {
        autofree char *ref = salvage_ref_name(t->run->id, t->task, k);
        autobuf struct buf commit = BUF_INIT;
        struct err ignored = {0};
        if (git_resolve(&c->at, ref, &commit, &ignored))
            return k;
    }
    return INT_MAX;
}

static const char *get_salvage_reason(const struct leftover_task *t)
{
    if (t->state && strcmp(t->state, "conflicted") == 0)
        return "it conflicted with landed work";
    if (!t->has_tree && t->path)
        return "its workspace was gone; only git's record of it was left";
    return t->run->state ? "its run ended without landing it" : "its run is unknown";
}

/* Finds an earlier salvage of the task that matches `option` of for-each-ref, and `tree` unless
 * NULL. The id is empty if there is none. */
static int find_saved(struct cleaner *c, const struct leftover_task *t, const char *option,
                      const char *tree, struct buf *ret_id, struct err *err)
{
    autofree char *refs = mem_printf(SALVAGE_REFS "%s/%s/", t->run->id, t->task);
    autobuf struct buf out = BUF_INIT;
    if (git_call(&c->at, &out, err, "for-each-ref", "--format=%(tree) %(refname)", option, refs,
                 NULL))
        return -1;
    for (char *next = out.s, *line; (line = strsep(&next, "\n")) && *line && !ret_id->len;) {
        const char *name = strchr(line, ' ') + 1, *id = name + strlen(SALVAGE_REFS);
        size_t len = strcspn(line, " ");
        if (!tree || (strlen(tree) == len && strncmp(line, tree, len) == 0))
            buf_add(ret_id, id, strcspn(id, "."));
    }
    return 0;
}

/* If the base branch or an earlier salvage has all of it, we need not save it again. */
static int find_known(struct cleaner *c, const struct leftover_task *t, const char *commit,
                      bool *ret_yes, struct buf *ret_id, struct err *err)
{
    autobuf struct buf tree = BUF_INIT;
    if (clean_is_merged(c, t->run, commit, ret_yes, err) || git_tree_of(&c->at, commit, &tree, err))
        return -1;
    if (!*ret_yes && find_saved(c, t, "--sort=refname", tree.s, ret_id, err))
        return -1;
    *ret_yes = *ret_yes || ret_id->len;
    return 0;
}

static int create_ref(struct cleaner *c, const struct leftover_task *t, int attempt,
                      const char *commit, struct buf *ret_id, struct err *err)
{
    autofree char *ref = salvage_ref_name(t->run->id, t->task, attempt);
    autobuf struct buf base = BUF_INIT;
    struct err ignored = {0};
    bool moved;
    unsynced_note();
    if (git_move_ref(&c->at, ref, "", commit, "anabranch: salvage", &moved, err))
        return -1;
    buf_addstr(ret_id, ref + strlen(SALVAGE_REFS));
    if (!moved)
        return err_set(err, ERR_ENV, "'%s' exists already", ref);
    if (find_base(c, t->run, &base, &ignored))
        return 0;
    return vault_keep(&c->at, ref, commit, base.s, &ignored, err);
}

/* Notes of the engine on the attempt, if they still exist. */
struct attempt_notes {
    char *excludes, *brought;
    struct buf patterns;
    VEC(const char *) list;
};

static void notes_done(struct attempt_notes *n)
{
    free(n->excludes);
    free(n->brought);
    buf_done(&n->patterns);
    vec_done(&n->list);
}

static void notes_read(struct attempt_notes *n, const struct cleaner *c,
                       const struct leftover_task *t)
{
    autofree char *dir = run_path(c->opts->state_dir, t->run->id);
    autofree char *list = mem_printf("%s/" RUN_SALVAGE, dir);
    n->excludes = attempt_file_path(dir, t->task, t->attempts, "excludes");
    n->brought = attempt_file_path(dir, t->task, t->attempts, "brought");
    if (access(n->excludes, R_OK) < 0) {
        free(n->excludes);
        n->excludes = NULL;
    }
    (void)file_read(list, 1 << 20, &n->patterns, NULL); /* then the run saves no ignored files */
    for (const char *p = n->patterns.s; p < n->patterns.s + n->patterns.len; p += strlen(p) + 1)
        vec_push(&n->list, p);
}

/* The commit to compare with: where the task began, or the current HEAD. */
static int find_start(struct cleaner *c, const struct leftover_task *t, const struct workspace *ws,
                      struct buf *ret, struct err *err)
{
    struct err ignored = {0};
    if (t->start && git_resolve(&c->at, t->start, ret, &ignored) == 0)
        return 0;
    if (ws->admin && workspace_head(ws, ret, &ignored) == 0)
        return 0;
    return find_base(c, t->run, ret, err);
}

/* Gives a tree that lost its administrative folder a new one. */
static int repair_admin(struct cleaner *c, struct leftover_task *t, struct workspace *ws,
                        struct err *err)
{
    autobuf struct buf start = BUF_INIT;
    if (t->has_admin)
        return 0;
    free(ws->admin);
    ws->admin = NULL;
    if (find_start(c, t, ws, &start, err) || workspace_repair(ws, start.s, err))
        return -1;
    t->has_admin = true;
    return 0;
}

static int save_workspace(struct cleaner *c, const struct leftover_task *t,
                          const struct workspace *ws, int attempt, struct salvaged *ret,
                          struct err *err)
{
    own_cleanup(notes_done) struct attempt_notes notes = {.patterns = BUF_INIT};
    autofree char *index = mem_printf("%s/index", c->scratch);
    autofree char *ref = salvage_ref_name(t->run->id, t->task, attempt);
    autobuf struct buf start = BUF_INIT;
    struct workspace usable = *ws;
    usable.path = t->has_tree ? ws->path : c->scratch; /* git needs a folder that exists */
    if (find_start(c, t, &usable, &start, err))
        return -1;
    autofree char *message =
        salvage_message(t->run->id, t->task, attempt, start.s, get_salvage_reason(t));
    struct change_limits limits = change_limits_of();
    notes_read(&notes, c, t);
    struct salvage_job job = {.commit = {.ws = &usable,
                                         .start = start.s,
                                         .index = index,
                                         .excludes = notes.excludes,
                                         .brought = notes.brought,
                                         .root = c->opts->repo->root,
                                         .message = message},
                              .ref = ref,
                              .patterns = notes.list.v,
                              .pattern_count = notes.list.n,
                              .bounds = {limits.files, limits.bytes},
                              .no_files = !t->has_tree,
                              .unnamed = true};
    return salvage_workspace(&job, ret, err);
}

/* A person decides on files that exceed the limits. */
static int refuse_large(const struct workspace *ws, const struct salvaged *saved, struct err *err)
{
    autobuf struct buf size = BUF_INIT, command = BUF_INIT;
    text_format_bytes(&size, saved->left_bytes);
    shell_quote(&command, "git worktree remove -f -f", ws->path, NULL);
    return err_set(
        err, ERR_ENV,
        "%zu file%s in it (%s), such as '%s', exceed the limits and cannot be saved; to remove it "
        "with them: %s",
        saved->left_count, saved->left_count == 1 ? "" : "s", size.s, saved->left.v[0], command.s);
}

int clean_save(struct cleaner *c, struct leftover_task *t, struct buf *ret_id, struct err *err)
{
    struct workspace ws = {.path = mem_str(t->path),
                           .admin = mem_str(t->admin),
                           .common = mem_str(c->opts->repo->common),
                           .branch = t->branch ? mem_str(t->branch) : NULL};
    autosalvaged struct salvaged saved = SALVAGED_INIT;
    int attempt = find_unused_attempt(c, t);
    bool known = false;
    int rc = repair_admin(c, t, &ws, err) || (t->has_tree && workspace_enter(&ws, err)) ||
                     save_workspace(c, t, &ws, attempt, &saved, err)
                 ? -1
                 : 0;
    if (rc == 0 && saved.commit.len && !saved.nested.n && !saved.stray_count)
        rc = find_known(c, t, saved.commit.s, &known, ret_id, err);
    if (rc == 0 && saved.commit.len && !known)
        rc = create_ref(c, t, attempt, saved.commit.s, ret_id, err);
    if (rc == 0 && saved.left_count)
        rc = refuse_large(&ws, &saved, err);
    workspace_done(&ws);
    return rc;
}

int clean_save_branch(struct cleaner *c, struct leftover_task *t, struct buf *ret_id,
                      struct err *err)
{
    autobuf struct buf head = BUF_INIT, tree = BUF_INIT, base = BUF_INIT, start = BUF_INIT,
                       commit = BUF_INIT;
    int attempt = find_unused_attempt(c, t);
    struct err ignored = {0};
    bool merged = false;
    if (git_resolve(&c->at, t->branch, &head, err) ||
        clean_is_merged(c, t->run, head.s, &merged, err) || merged)
        return merged ? 0 : -1;
    autofree char *contains = mem_printf("--contains=%s", head.s);
    if (find_saved(c, t, contains, NULL, ret_id, err) || ret_id->len)
        return ret_id->len ? 0 : -1;
    if (find_base(c, t->run, &base, err) || git_tree_of(&c->at, head.s, &tree, err))
        return -1;
    if (git_call(&c->at, &start, &ignored, "merge-base", base.s, head.s, NULL))
        buf_addstr(&start, base.s);
    autofree char *message =
        salvage_message(t->run->id, t->task, attempt, start.s, get_salvage_reason(t));
    const char *const parents[] = {head.s, NULL};
    if (git_commit_tree(&c->at, tree.s, parents, message, &commit, err))
        return -1;
    return create_ref(c, t, attempt, commit.s, ret_id, err);
}
