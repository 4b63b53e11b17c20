/*
 * Decides which workspaces and branches to remove, and removes them.
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

enum { STOP_TIMEOUT_MS = 5000 };

static const char engine_lock_reason[] = "in use by anabranch";

static bool is_state(const char *state, const char *word)
{
    return state && strcmp(state, word) == 0;
}

/* The run was killed before it could record its end. */
static bool is_resumable(const struct leftover_run *run)
{
    return is_state(run->state, "running");
}

bool clean_may_remove(const struct cleaner *c, const struct leftover_run *run)
{
    return c->opts->all || (c->opts->run && strcmp(run->id, c->opts->run) == 0);
}

static const char *get_kind(const struct leftover_task *t)
{
    return t->path ? "workspace" : "branch";
}

static const char *get_name(const struct leftover_task *t)
{
    return t->path ? t->path : t->branch + strlen("refs/heads/");
}

enum owner { OWNER_ENGINE, OWNER_PERSON, OWNER_LOCKED };

/* The engine locks its own workspaces. It unlocks one that it hands to a person. A lock with
 * another reason means that a person wants to keep the workspace. */
static enum owner get_owner(const struct leftover_task *t, struct buf *reason)
{
    autofree char *path = mem_printf("%s/locked", t->admin);
    if (!t->has_admin)
        return is_state(t->state, "conflicted") ? OWNER_PERSON : OWNER_ENGINE;
    if (access(path, F_OK) < 0)
        return t->inner ? OWNER_ENGINE : OWNER_PERSON;
    if (file_read(path, 4096, reason, NULL))
        return OWNER_LOCKED;
    reason->s[strcspn(reason->s, "\n")] = '\0';
    if (strcmp(reason->s, engine_lock_reason) != 0)
        return OWNER_LOCKED;
    /* A layered workspace in conflict stays locked if the engine could not convert it at the end of
     * its run. */
    return is_state(t->state, "conflicted") && layers_there(t->path) ? OWNER_PERSON : OWNER_ENGINE;
}

static struct workspace get_workspace(const struct cleaner *c, const struct leftover_task *t)
{
    return (struct workspace){.path = mem_str(t->path),
                              .admin = mem_str(t->admin),
                              .common = mem_str(c->opts->repo->common)};
}

/* True if nothing in it is changed and the base branch has its HEAD. */
static int is_contained(struct cleaner *c, const struct leftover_task *t, bool *ret_yes,
                        struct err *err)
{
    autobuf struct buf changes = BUF_INIT, head = BUF_INIT;
    own_cleanup(workspace_done) struct workspace ws = get_workspace(c, t);
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

/* The folder may be missing because its disk is not mounted. */
static bool may_be_unmounted(const struct cleaner *c, const struct leftover_task *t)
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

/* Keeps a person's workspace, and reports it, if it has something that the base branch does not. */
static bool keep_for_person(struct cleaner *c, const struct leftover_task *t)
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
                       : "it was kept for you, and has something that %s lacks; --all saves and "
                         "removes it",
                   t->run->base ? t->run->base + strlen("refs/heads/") : "the branch");
    return !contained;
}

/* clean_find_users() found the processes before we entered a user namespace. From inside we cannot
 * always see them. */
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

/* Keeps, and reports, what belongs to a live or resumable run. */
static bool keep_for_run(struct cleaner *c, const struct leftover_task *t)
{
    if (t->run->alive)
        clean_tell(c, CLEAN_KEPT, get_kind(t), get_name(t), NULL, "its run is still running");
    else if (is_resumable(t->run) && !clean_may_remove(c, t->run))
        clean_tell(c, CLEAN_KEPT, get_kind(t), get_name(t), NULL,
                   "run %s was interrupted and can be resumed; --all saves and removes it",
                   t->run->id);
    else
        return false;
    return true;
}

static bool belongs_to_run(const struct cleaner *c, const struct leftover_run *run)
{
    return run->alive || (is_resumable(run) && !clean_may_remove(c, run));
}

/* Ends the processes that the guards of a dead run have not ended yet: nothing may change any
 * more. */
static void end_processes(struct cleaner *c, struct leftover_run *run)
{
    autostrv struct strv names = {0};
    struct err err = {0};
    if (!run->processes_ended && !c->opts->dry_run &&
        leftover_processes_end_run(run->id, STOP_TIMEOUT_MS, &names, &err))
        run->end_error = arena_str(&c->leftovers.arena, err.msg);
    run->processes_ended = true;
}

void clean_find_users(struct cleaner *c, struct leftover_task *t)
{
    if (!t->path || belongs_to_run(c, t->run))
        return;
    end_processes(c, t->run);
    t->used_by = t->has_tree ? proc_table_in(t->path) : 0;
}

static bool keep_stuck(struct cleaner *c, const struct leftover_task *t)
{
    if (t->run->end_error)
        clean_tell(c, CLEAN_FAILED, "workspace", t->path, NULL, "%s", t->run->end_error);
    return t->run->end_error;
}

/* Mounts a layered workspace that only its run could see, until we are done. */
static bool mount_layers(struct cleaner *c, const struct leftover_task *t)
{
    struct layers_hold hold;
    struct err err = {0};
    if (c->opts->dry_run)
        return true;
    if (layers_take(t->path, c->opts->repo->common, &c->base_tree, &hold, &err)) {
        clean_tell(c, CLEAN_FAILED, "workspace", t->path, NULL, "%s", err.msg);
        return false;
    }
    vec_push(&c->holds, hold);
    return true;
}

/* Somebody has put another folder in its place. */
static bool keep_replaced(struct cleaner *c, const struct leftover_task *t)
{
    own_cleanup(workspace_done) struct workspace ws = get_workspace(c, t);
    autobuf struct buf replaced_by = BUF_INIT;
    bool other = t->has_tree && workspace_is_replaced(&ws, &replaced_by);
    if (other)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL, "%s", replaced_by.s);
    return other;
}

static bool keep_workspace(struct cleaner *c, const struct leftover_task *t)
{
    autobuf struct buf reason = BUF_INIT;
    enum owner owner = get_owner(t, &reason);
    if (keep_for_run(c, t) || keep_stuck(c, t) || keep_replaced(c, t) || !mount_layers(c, t))
        return true;
    if (owner == OWNER_LOCKED)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL, "it is locked: %s", reason.s);
    else if (may_be_unmounted(c, t) && !c->opts->all)
        clean_tell(c, CLEAN_KEPT, "workspace", t->path, NULL,
                   "its disk does not seem to be mounted; --all removes git's record of it");
    else
        return (owner == OWNER_PERSON && keep_for_person(c, t)) || keep_in_use(c, t);
    return true;
}

static int delete_ref(struct cleaner *c, const char *ref, struct err *err)
{
    autobuf struct buf at = BUF_INIT;
    bool moved;
    bool branch = strncmp(ref, VAULT_BRANCHES, strlen(VAULT_BRANCHES)) == 0;
    if (unsynced_settle(c->opts->repo->common, err) || git_resolve(&c->at, ref, &at, err) ||
        (branch && vault_drop(&c->at, ref, err)))
        return -1;
    return git_move_ref(&c->at, ref, at.s, "", "anabranch: clean", &moved, err);
}

/* The user's worktree that has the branch checked out, or NULL. */
static const char *find_checkout(const struct cleaner *c, const struct leftover_task *t)
{
    return t->branch ? leftovers_checkout(&c->leftovers, t->branch) : NULL;
}

static int retire_workspace(struct cleaner *c, const struct leftover_task *t, struct err *err)
{
    struct workspace ws = get_workspace(c, t);
    struct strv *to = workspace_is_large(&ws) ? &c->delete_later : &c->delete_now;
    int rc = workspace_retire(&ws, to, err);
    workspace_done(&ws);
    return rc;
}

/* If a resumable run loses its work, it restarts the task from scratch when resumed. */
static void report_removed(struct cleaner *c, const struct leftover_task *t, const char *salvage)
{
    const char *resume_note =
        is_resumable(t->run) ? "; if its run is resumed, the task restarts" : "";
    if (*salvage)
        clean_tell(c, CLEAN_REMOVED, get_kind(t), get_name(t), salvage, "saved as %s%s", salvage,
                   resume_note);
    else
        clean_tell(c, CLEAN_REMOVED, get_kind(t), get_name(t), NULL, "%s%s",
                   c->opts->dry_run ? "saved first if it has something that the base branch lacks"
                                    : "the base branch has everything in it",
                   resume_note);
}

/* The engine was still making the workspace; no attempt has begun in it. */
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
        ((!is_untouched(t) && clean_save(c, t, &id, err)) || retire_workspace(c, t, err)))
        return -1;
    report_removed(c, t, id.s);
    const char *elsewhere = find_checkout(c, t);
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
    report_removed(c, t, id.s);
    return 0;
}

/* Keeps, and reports, branches that a person needs: results that the checkout could not follow, and
 * conflicts. */
static bool keep_branch(struct cleaner *c, const struct leftover_task *t)
{
    const char *name = get_name(t), *elsewhere = find_checkout(c, t);
    bool result = strcmp(t->task, STORE_RESULT) == 0, merged = false;
    autobuf struct buf head = BUF_INIT;
    struct err err = {0};
    if (keep_for_run(c, t))
        return true;
    if (git_resolve(&c->at, t->branch, &head, &err) ||
        clean_is_merged(c, t->run, head.s, &merged, &err))
        clean_tell(c, CLEAN_FAILED, "branch", name, NULL, "%s", err.msg);
    else if (elsewhere)
        clean_tell(c, CLEAN_KEPT, "branch", name, NULL, "it is checked out in %s", elsewhere);
    else if (result && !merged)
        clean_tell(c, CLEAN_KEPT, "branch", name, NULL, "it has landed work that %s lacks",
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
        clean_tell(c, CLEAN_FAILED, get_kind(t), get_name(t), NULL, "%s", err.msg);
}

/* A worktree that an agent made inside a workspace that is gone now. */
void clean_inner(struct cleaner *c, struct leftover_task *t)
{
    struct stat st;
    if (!t->run->alive && lstat(t->path, &st) < 0) {
        t->has_tree = false;
        clean_task(c, t);
    }
}
