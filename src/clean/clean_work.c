/*
 * Which workspaces and branches go, and how.
 */
#include "clean/clean_private.h"

#include "base/mem.h"
#include "git/format/gitlinks.h"
#include "git/unsynced.h"
#include "sys/fs/file.h"
#include "sys/guard/leftover_processes.h"
#include "sys/guard/proc_table.h"
#include "workspace/commit/salvage.h"
#include "workspace/commit/vault.h"
#include "workspace/overlay/layers.h"
#include "workspace/workspace_hold.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

static const char own_lock[] = "in use by anabranch";

static bool is_state(const char *state, const char *word)
{
    return state && strcmp(state, word) == 0;
}

/* The run ended without having been able to say so: it can go on. */
static bool can_go_on(const struct leftover_run *run)
{
    return is_state(run->state, "running");
}

bool clean_takes(const struct cleaner *c, const struct leftover_run *run)
{
    return c->opts->all || (c->opts->run && strcmp(run->id, c->opts->run) == 0);
}

static const char *kind_of(const struct leftover_task *t)
{
    return t->path ? "workspace" : "branch";
}

static const char *name_of(const struct leftover_task *t)
{
    return t->path ? t->path : t->branch + strlen("refs/heads/");
}

/* --- reasons to keep one ------------------------------------------------------------------ */

enum owner { OWNER_ENGINE, OWNER_PERSON, OWNER_LOCKED };

/* The engine's own is locked by it; without its lock it was given to a person; with another lock a
 * person has said that it is to stay. */
static enum owner owner_of(const struct leftover_task *t, struct buf *reason)
{
    autofree char *path = mem_printf("%s/locked", t->admin);
    if (!t->has_admin)
        return is_state(t->state, "conflicted") ? OWNER_PERSON : OWNER_ENGINE;
    if (access(path, F_OK) < 0)
        return t->inner ? OWNER_ENGINE : OWNER_PERSON;
    if (file_read(path, 4096, reason, NULL))
        return OWNER_LOCKED;
    reason->s[strcspn(reason->s, "\n")] = '\0';
    if (strcmp(reason->s, own_lock) != 0)
        return OWNER_LOCKED;
    /* One that could not be made an ordinary one at the end of its run is locked all the same. */
    return is_state(t->state, "conflicted") && layers_there(t->path) ? OWNER_PERSON : OWNER_ENGINE;
}

static struct workspace workspace_of(const struct cleaner *c, const struct leftover_task *t)
{
    return (struct workspace){.path = mem_str(t->path),
                              .admin = mem_str(t->admin),
                              .common = mem_str(c->opts->repo->common)};
}

/* Nothing in it is changed, and what is checked out is in the base branch. */
static int is_contained(struct cleaner *c, const struct leftover_task *t, bool *ret_yes,
                        struct err *err)
{
    autobuf struct buf changes = BUF_INIT, head = BUF_INIT;
    own_cleanup(workspace_done) struct workspace ws = workspace_of(c, t);
    *ret_yes = false;
    if (!t->has_tree || !t->has_admin)
        return 0;
    if (workspace_enter(&ws, err))
        return -1;
    autofree char *index = mem_printf("%s/index", ws.admin);
    autostrv struct strv modules = {0};
    struct git_place at = workspace_place(&ws);
    struct git_place by_name = {
        .git_dir = ws.admin, .common = ws.common, .work_tree = ws.path, .index = index};
    if (git_call(&at, &changes, err, "--no-optional-locks", "status", "--porcelain",
                 "--ignore-submodules=dirty", NULL))
        return -1;
    if (changes.len)
        return 0;
    if (workspace_head(&ws, &head, err) ||
        gitlinks_changed(&by_name, strlen(head.s), true, &modules, err))
        return -1;
    if (modules.n)
        return 0;
    return clean_is_merged(c, t->run, head.s, ret_yes, err);
}

/* A folder that is missing because its disk is. */
static bool may_come_back(const struct cleaner *c, const struct leftover_task *t)
{
    autofree char *work = mem_str(t->path);
    struct stat st;
    size_t root = strlen(c->opts->repo->root);
    if (t->has_tree || t->inner || strncmp(t->path, c->opts->repo->root, root) == 0)
        return false;
    for (int i = 0; i < 2; i++)
        *strrchr(work, '/') = '\0';
    return *work && lstat(work, &st) < 0;
}

/* Of a person's workspace; true where it stays, and that was told. */
static bool keep_person(struct cleaner *c, const struct leftover_task *t)
{
    struct err err = {0};
    bool contained = false;
    if (c->opts->all)
        return false;
    if (is_contained(c, t, &contained, &err)) {
        clean_tell(c, CLEAN_FAILED, "workspace", t->path, NULL, "%s", err.msg);
        return true;
    }
    if (!contained)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL,
                   is_state(t->state, "conflicted")
                       ? "its conflict is for you to resolve; --all saves and removes it"
                       : "it was kept for you, and has what %s has not; --all saves and removes it",
                   t->run->base ? t->run->base + strlen("refs/heads/") : "the branch");
    return !contained;
}

/* Who was there at the first look may be one that we do not see any more. */
static bool keep_in_use(struct cleaner *c, const struct leftover_task *t)
{
    autobuf struct buf command = BUF_INIT;
    pid_t pid = t->has_tree ? proc_table_in(t->path) : 0;
    if (!pid && t->has_tree && t->used_by && proc_table_start(t->used_by))
        pid = t->used_by;
    if (!pid)
        return false;
    proc_table_command(pid, &command);
    clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL, "process %d works in it: %s", (int)pid,
               command.s);
    return true;
}

/* True where the workspace or branch stays, and that was told. */
static bool keep_run(struct cleaner *c, const struct leftover_task *t)
{
    if (t->run->alive)
        clean_tell(c, CLEAN_KEPT, kind_of(t), name_of(t), NULL, "its run goes on");
    else if (can_go_on(t->run) && !clean_takes(c, t->run))
        clean_tell(c, CLEAN_KEPT, kind_of(t), name_of(t), NULL,
                   "run %s was interrupted and can be resumed; --all saves and removes it",
                   t->run->id);
    else
        return false;
    return true;
}

static bool stays_with_run(const struct cleaner *c, const struct leftover_run *run)
{
    return run->alive || (can_go_on(run) && !clean_takes(c, run));
}

/* What a dead run's guards have not ended yet is ended, so that nothing changes any more. */
static void end_processes(struct cleaner *c, struct leftover_run *run)
{
    autostrv struct strv names = {0};
    struct err err = {0};
    if (!run->ended && !c->opts->dry_run &&
        leftover_processes_end_run(run->id, PATIENCE_MS, &names, &err))
        run->stuck = arena_str(&c->remains.arena, err.msg);
    run->ended = true;
}

void clean_look(struct cleaner *c, struct leftover_task *t)
{
    if (!t->path || stays_with_run(c, t->run))
        return;
    end_processes(c, t->run);
    t->used_by = t->has_tree ? proc_table_in(t->path) : 0;
}

static bool keep_stuck(struct cleaner *c, const struct leftover_task *t)
{
    if (t->run->stuck)
        clean_tell(c, CLEAN_FAILED, "workspace", t->path, NULL, "%s", t->run->stuck);
    return t->run->stuck;
}

/* What only its run could see; it stays until we are done. */
static bool see(struct cleaner *c, const struct leftover_task *t)
{
    struct layers_hold hold;
    struct err err = {0};
    if (c->opts->dry_run)
        return true;
    if (layers_take(t->path, c->opts->repo->common, &c->below, &hold, &err)) {
        clean_tell(c, CLEAN_FAILED, "workspace", t->path, NULL, "%s", err.msg);
        return false;
    }
    vec_push(&c->holds, hold);
    return true;
}

/* Somebody has put another folder in its place. */
static bool keep_other(struct cleaner *c, const struct leftover_task *t)
{
    own_cleanup(workspace_done) struct workspace ws = workspace_of(c, t);
    autobuf struct buf words = BUF_INIT;
    bool other = t->has_tree && t->has_admin && workspace_is_replaced(&ws, &words);
    if (other)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL, "%s", words.s);
    return other;
}

static bool keep_workspace(struct cleaner *c, const struct leftover_task *t)
{
    autobuf struct buf reason = BUF_INIT;
    enum owner owner = owner_of(t, &reason);
    if (keep_run(c, t) || keep_stuck(c, t) || keep_other(c, t) || !see(c, t))
        return true;
    if (owner == OWNER_LOCKED)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL, "it is locked: %s", reason.s);
    else if (may_come_back(c, t) && !c->opts->all)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL,
                   "its disk does not seem to be there; --all removes what git knows of it");
    else
        return (owner == OWNER_PERSON && keep_person(c, t)) || keep_in_use(c, t);
    return true;
}

/* --- removing ----------------------------------------------------------------------------- */

static int delete_ref(struct cleaner *c, const char *ref, struct err *err)
{
    autobuf struct buf at = BUF_INIT;
    bool moved;
    bool branch = strncmp(ref, VAULT_BRANCHES, strlen(VAULT_BRANCHES)) == 0;
    return unsynced_settle(c->opts->repo->common, err) || git_resolve(&c->at, ref, &at, err) ||
                   (branch && vault_drop(&c->at, ref, err)) ||
                   git_move_ref(&c->at, ref, at.s, "", "anabranch: clean", &moved, err)
               ? -1
               : 0;
}

/* Where the user has a branch checked out, it is in use. */
static const char *used_elsewhere(const struct cleaner *c, const struct leftover_task *t)
{
    return t->branch ? leftovers_checkout(&c->remains, t->branch) : NULL;
}

static int retire(struct cleaner *c, const struct leftover_task *t, struct err *err)
{
    struct workspace ws = workspace_of(c, t);
    struct strv *to = workspace_is_large(&ws) ? &c->large : &c->left;
    int rc = workspace_retire(&ws, to, err);
    workspace_done(&ws);
    return rc;
}

/* A run whose work goes is one that begins anew where it is resumed. */
static void tell_removed(struct cleaner *c, const struct leftover_task *t, const char *salvage)
{
    const char *end = can_go_on(t->run) ? "; its run cannot go on with it any more" : "";
    if (*salvage)
        clean_tell(c, CLEAN_REMOVED, kind_of(t), name_of(t), salvage, "saved as %s%s", salvage,
                   end);
    else
        clean_tell(c, CLEAN_REMOVED, kind_of(t), name_of(t), NULL, "%s%s",
                   c->opts->dry_run ? "saved first, if it has what the base branch has not"
                                    : "there is nothing in it that the base branch has not",
                   end);
}

/* The engine was still making it, and has begun nothing else with it before. */
static bool is_untouched(const struct leftover_task *t)
{
    return is_state(t->state, "preparing") || is_state(t->state, "ready");
}

static int remove_workspace(struct cleaner *c, struct leftover_task *t, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    autofree char *layers = layers_path(t->path);
    clean_measure(c, layers_there(t->path) ? layers : t->path);
    if (!c->opts->dry_run &&
        ((!is_untouched(t) && clean_save(c, t, &id, err)) || retire(c, t, err)))
        return -1;
    tell_removed(c, t, id.s);
    const char *elsewhere = used_elsewhere(c, t);
    if (elsewhere)
        clean_tell(c, CLEAN_KEPT, "branch", t->branch + strlen("refs/heads/"), NULL,
                   "it is checked out in %s", elsewhere);
    return !t->branch || elsewhere || c->opts->dry_run ? 0 : delete_ref(c, t->branch, err);
}

static int remove_branch(struct cleaner *c, struct leftover_task *t, struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    if (!c->opts->dry_run && (clean_save_branch(c, t, &id, err) || delete_ref(c, t->branch, err)))
        return -1;
    tell_removed(c, t, id.s);
    return 0;
}

/* What a checkout could not follow, and branches in conflict, are there for a person. */
static bool keep_branch(struct cleaner *c, const struct leftover_task *t)
{
    const char *name = name_of(t), *elsewhere = used_elsewhere(c, t);
    bool result = strcmp(t->task, STORE_RESULT) == 0, merged = false;
    autobuf struct buf head = BUF_INIT;
    struct err err = {0};
    if (keep_run(c, t))
        return true;
    if (git_resolve(&c->at, t->branch, &head, &err) ||
        clean_is_merged(c, t->run, head.s, &merged, &err))
        clean_tell(c, CLEAN_FAILED, "branch", name, NULL, "%s", err.msg);
    else if (elsewhere)
        clean_tell(c, CLEAN_KEPT, "branch", name, NULL, "it is checked out in %s", elsewhere);
    else if (result && !merged)
        clean_tell(c, CLEAN_KEPT, "branch", name, NULL, "it has what landed, and %s has not",
                   t->run->base ? t->run->base + strlen("refs/heads/") : "no other branch");
    else if (is_state(t->state, "conflicted") && !merged && !c->opts->all)
        clean_tell(c, CLEAN_KEPT, "branch", name, NULL,
                   "its conflict is for you to resolve; --all saves and removes it");
    else
        return false;
    return true;
}

void clean_task(struct cleaner *c, struct leftover_task *t)
{
    struct err err = {0};
    if (!t->path && !t->branch)
        return;
    if (t->path ? keep_workspace(c, t) : keep_branch(c, t))
        return;
    if (t->path ? remove_workspace(c, t, &err) : remove_branch(c, t, &err))
        clean_tell(c, CLEAN_FAILED, kind_of(t), name_of(t), NULL, "%s", err.msg);
}

/* A worktree that an agent made inside of a workspace, of which that has gone. */
void clean_inner(struct cleaner *c, struct leftover_task *t)
{
    struct stat st;
    if (!t->run->alive && lstat(t->path, &st) < 0) {
        t->has_tree = false;
        clean_task(c, t);
    }
}
