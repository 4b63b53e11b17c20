/*
 * Removes leftovers other than workspaces: refs of runs, logs, temporary folders, locks.
 */
#include "clean/clean_private.h"

#include "base/mem.h"
#include "clean/unbegun_runs.h"
#include "git/dead_lock.h"
#include "git/state_paths.h"
#include "run/checkout/checkout_note.h"
#include "run/land/gc_hold.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/known_folder.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "workspace/overlay/base_tree.h"
#include "workspace/overlay/layers.h"
#include "workspace/overlay/shared_folders.h"
#include "workspace/root_folder.h"

#include <dirent.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DELETE_WAIT_MS = 5000 }; /* how long we wait for the process that deletes large trees */

static const int64_t day = 24 * 60 * 60 * 1000;

static int clean_tip(struct cleaner *c, const char *ref, const char *commit, struct err *err)
{
    struct leftover_run *run = leftovers_run(&c->leftovers, strrchr(ref, '/') + 1, err);
    bool merged = false, moved;
    if (!run || clean_is_merged(c, run, commit, &merged, err))
        return -1;
    bool resumable = run->state && strcmp(run->state, "running") == 0 && !clean_may_remove(c, run);
    if (run->alive || resumable)
        clean_tell(c, CLEAN_KEPT, "ref", ref, NULL,
                   run->alive ? "its run is still running" : "its run can be resumed");
    else if (!merged)
        clean_tell(c, CLEAN_KEPT, "ref", ref, NULL,
                   "it has landed work that no branch has; to keep it: git branch NAME %s", ref);
    else if (!c->opts->dry_run &&
             git_move_ref(&c->at, ref, commit, "", "anabranch: clean", &moved, err))
        return -1;
    else
        clean_tell(c, CLEAN_REMOVED, "ref", ref, NULL, "the base branch has everything in it");
    return 0;
}

int clean_tips(struct cleaner *c, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    if (git_call(&c->at, &out, err, "for-each-ref", "--format=%(refname) %(objectname)", TIP_REFS,
                 NULL))
        return -1;
    for (char *next = out.s, *ref; (ref = strsep(&next, "\n")) && *ref;) {
        char *commit = strchr(ref, ' ');
        *commit++ = '\0';
        if (is_run_id(strrchr(ref, '/') + 1) && clean_tip(c, ref, commit, err))
            return -1;
    }
    return 0;
}

/* The time at which the first interrupted run that can be resumed began; 0: there is none. We read
 * it from its lock file, which is written only once. */
static int64_t find_first_interrupted(const struct cleaner *c)
{
    int64_t first = 0;
    for (size_t i = 0; i < c->leftovers.runs.n; i++) {
        const struct leftover_run *run = c->leftovers.runs.v[i];
        autofree char *path = mem_printf("%s/runs/%s/" RUN_LOCK, c->opts->state_dir, run->id);
        struct stat st;
        bool killed = !run->alive && run->state && strcmp(run->state, "running") == 0;
        if (!killed || stat(path, &st) < 0)
            continue;
        int64_t begun = (int64_t)st.st_mtim.tv_sec * 1000;
        first = first && first < begun ? first : begun;
    }
    return first;
}

static int finish_checkout(struct cleaner *c, struct err *err)
{
    autobase_lock struct base_lock base_lock = BASE_LOCK_INIT;
    autobuf struct buf from = BUF_INIT;
    if (base_lock_take(&base_lock, c->opts->state_dir, err))
        return -1;
    return checkout_note_mend(&base_lock, c->opts->repo, &from, err);
}

void clean_blockers(struct cleaner *c)
{
    const struct git_repo *repo = c->opts->repo;
    autostrv struct strv removed = {0};
    struct err err = {0};
    int64_t since = find_first_interrupted(c);
    if (c->opts->dry_run)
        return;
    if (since)
        dead_lock_remove_shared(repo->common, since, &removed);
    for (size_t i = 0; i < removed.n; i++)
        clean_tell(c, CLEAN_REMOVED, "file", removed.v[i], NULL, "a lock that a killed git left");
    gc_hold_leave(repo->common, c->opts->state_dir);
    if (finish_checkout(c, &err))
        clean_tell(c, CLEAN_FAILED, "file", repo->root, NULL, "%s", err.msg);
}

/* Removes locks on our refs that a killed git left. If a run is alive, a lock may be its own. */
int clean_locks(struct cleaner *c, struct err *err)
{
    autofree char *heads = mem_printf("%s/refs/heads/anabranch", c->opts->repo->common);
    autofree char *own = mem_printf("%s/refs/anabranch", c->opts->repo->common);
    char *const folders[] = {heads, own, NULL};
    if (leftovers_any_alive(&c->leftovers))
        return 0;
    FTS *fts = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    if (!fts)
        return err_sys(err, "look for locks");
    for (FTSENT *e; (e = fts_read(fts));) {
        size_t len = e->fts_namelen;
        if (e->fts_info == FTS_DP || len < 5 || strcmp(e->fts_name + len - 5, ".lock") != 0)
            continue;
        bool removed = c->opts->dry_run || unlink(e->fts_path) == 0;
        clean_tell(c, removed ? CLEAN_REMOVED : CLEAN_FAILED, "file", e->fts_path, NULL,
                   "a lock that a killed git left");
    }
    (void)fts_close(fts);
    return 0;
}

/* Renames a folder before we delete it, so that nobody uses half of it. */
static int set_aside(struct cleaner *c, const char *path, struct err *err)
{
    autofree char *aside = mem_printf("%s/tmp/%s.gone", c->opts->state_dir, strrchr(path, '/') + 1);
    if (c->opts->dry_run)
        return 0;
    if (dirs_remove(aside, err))
        return -1;
    if (rename(path, aside) < 0)
        return err_sys(err, "remove '%s'", path);
    strv_push(&c->delete_later, aside);
    return 0;
}

/* Locks a base tree so that nobody begins to use it. A dry run makes no lock file. */
static int lock_base_tree(const struct cleaner *c, const char *path, int *ret_lock, bool *ret_used,
                          struct err *err)
{
    autofree char *lock = mem_printf("%s/lock", path);
    *ret_used = false;
    if (c->opts->dry_run && access(lock, F_OK) < 0)
        return 0;
    if (dirs_try_lock(lock, ret_lock, err))
        return -1;
    *ret_used = *ret_lock < 0;
    return 0;
}

/* A finished base tree saves the next run the time to make it, so we keep it. */
static int clean_base_tree(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct cleaner *c = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    autoclose int lock = -1;
    bool used, finished = base_tree_is_finished(name);
    if (*name == '.')
        return 0;
    if (lock_base_tree(c, path, &lock, &used, err))
        return -1;
    if (used || (finished && !c->opts->all)) {
        clean_tell(c, CLEAN_KEPT, "tree", path, NULL,
                   used ? "it is in use"
                        : "the next run makes workspaces from it; --all removes it");
        return 0;
    }
    clean_measure(c, path);
    if (set_aside(c, path, err))
        return -1;
    clean_tell(c, CLEAN_REMOVED, "tree", path, NULL,
               finished ? "the next run that needs it makes it again" : "it was never finished");
    return 0;
}

/* Releases the base trees below workspaces that are gone. */
static void release_base_trees(struct cleaner *c)
{
    for (size_t i = 0; i < c->holds.n; i++)
        layers_hold_done(&c->holds.v[i]);
    vec_done(&c->holds);
    base_tree_done(&c->base_tree);
}

int clean_base_trees(struct cleaner *c, struct err *err)
{
    autofree char *path = mem_printf("%s/pristine", c->opts->state_dir);
    release_base_trees(c);
    int rc = dirs_each(path, clean_base_tree, c, err);
    if (!c->opts->dry_run)
        (void)rmdir(path); /* the next run makes it again */
    return rc;
}

/* Removes what is left of layers in the folders of dead runs. */
static void remove_dead_layers(const struct cleaner *c, size_t work)
{
    for (size_t i = 0; i < c->leftovers.runs.n; i++) {
        autofree char *own =
            mem_printf("%s/%s", c->leftovers.workspace_roots.v[work], c->leftovers.runs.v[i]->id);
        struct err none = {0};
        if (!c->leftovers.runs.v[i]->alive && layers_tidy(own, c->opts->repo->common, &none) == 0)
            (void)rmdir(own);
    }
}

struct shared_cleaner {
    struct cleaner *c;
    struct shared_folders kept;
};

/* A shared folder that is finished saves the next run the time to copy it, so we keep it. */
static int clean_shared_folder(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct shared_cleaner *k = ctx;
    struct cleaner *c = k->c;
    autofree char *path = mem_printf("%s/%s", dir, name), *done = mem_printf("%s/done", path);
    if (!shared_folders_is_name(name))
        return 0;
    bool used = shared_folders_is_used(&k->kept, name),
         orphan = shared_folders_is_orphan(&k->kept, name);
    bool finished = access(done, F_OK) == 0;
    if (used || (finished && !orphan && !c->opts->all)) {
        clean_tell(c, CLEAN_KEPT, "tree", path, NULL,
                   used ? "it is in use" : "workspaces of the next run share it; --all removes it");
        return 0;
    }
    clean_measure(c, path);
    if (set_aside(c, path, err))
        return -1;
    clean_tell(c, CLEAN_REMOVED, "tree", path, NULL,
               !finished ? "it was never finished"
               : orphan  ? "the folder that it is a copy of is gone"
                         : "the next run that shares it copies it again");
    return 0;
}

/* Layers of workspaces that are gone may still hold shared folders: remove them first. */
int clean_shared_folders(struct cleaner *c, struct err *err)
{
    autofree char *path = mem_printf("%s/shared", c->opts->state_dir);
    struct shared_cleaner k = {.c = c};
    if (access(path, F_OK) < 0)
        return 0;
    for (size_t i = 0; !c->opts->dry_run && i < c->leftovers.workspace_roots.n; i++)
        remove_dead_layers(c, i);
    if (shared_folders_open(&k.kept, c->opts->state_dir, NULL, err))
        return -1;
    int rc = dirs_each(path, clean_shared_folder, &k, err);
    if (!c->opts->dry_run)
        shared_folders_vacate(&k.kept);
    shared_folders_close(&k.kept);
    return rc;
}

/* True if the last change of the log is older than the limit. */
static bool is_old(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           clock_wall() - (int64_t)st.st_mtime * 1000 > CLEAN_LOG_DAYS * day;
}

/* Releases our own lock first. */
static bool lock_unbegun(struct leftover_run *run, const char *path, int *ret_lock)
{
    own_close(&run->lock);
    return unbegun_is(path, ret_lock);
}

static int remove_unbegun(struct cleaner *c, const char *path, struct err *err)
{
    clean_measure(c, path);
    if (set_aside(c, path, err))
        return -1;
    clean_tell(c, CLEAN_REMOVED, "logs", path, NULL, "its run was killed before it began");
    return 0;
}

/* Runs whose logs we keep. */
struct kept_logs {
    struct cleaner *c;
    size_t needed; /* by a live run, or to resume one: --all keeps them as well */
    size_t recent;
};

static void report_kept_logs(const struct kept_logs *kept, const char *path)
{
    struct cleaner *c = kept->c;
    if (kept->needed)
        clean_tell(c, CLEAN_KEPT, "logs", path, NULL, "of %zu run%s still running or resumable",
                   kept->needed, kept->needed == 1 ? "" : "s");
    if (kept->recent)
        clean_tell(c, CLEAN_KEPT, "logs", path, NULL,
                   "of %zu run%s of the last %d days; --all removes them", kept->recent,
                   kept->recent == 1 ? "" : "s", CLEAN_LOG_DAYS);
}

static bool has_workspaces(const struct cleaner *c, const char *id)
{
    struct stat st;
    bool found = false;
    for (size_t i = 0; i < c->leftovers.workspace_roots.n; i++) {
        autofree char *path = mem_printf("%s/%s", c->leftovers.workspace_roots.v[i], id);
        found = found || lstat(path, &st) == 0;
    }
    return found;
}

/* A later clean needs the record of the workspaces as long as any of them is left. */
static void keep_record(struct cleaner *c, const char *path, const char *id)
{
    autofree char *from = mem_printf("%s/tmp/%s.gone/" RUN_FOLDERS, c->opts->state_dir, id);
    autofree char *to = mem_printf("%s/" RUN_FOLDERS, path);
    if (c->opts->dry_run || !has_workspaces(c, id) || dirs_make(path, NULL))
        return;
    if (rename(from, to) < 0)
        (void)rmdir(path); /* an older program's run has none */
    else
        strv_push(&c->records, path);
}

static void drop_records(const struct cleaner *c)
{
    for (size_t i = 0; i < c->records.n; i++) {
        if (!has_workspaces(c, strrchr(c->records.v[i], '/') + 1))
            (void)dirs_remove(c->records.v[i], NULL); /* the next clean tries again */
    }
}

/* True if an earlier clean has left only the record, for workspaces that still exist. */
static bool is_record_only(const char *path)
{
    DIR *dir = opendir(path);
    size_t others = 0, records = 0;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        records += strcmp(e->d_name, RUN_FOLDERS) == 0;
        others += *e->d_name != '.' && strcmp(e->d_name, RUN_FOLDERS) != 0;
    }
    if (dir)
        (void)closedir(dir);
    return records && !others;
}

static int clean_log(void *ctx, const char *dir, const char *id, struct err *err)
{
    struct kept_logs *kept = ctx;
    struct cleaner *c = kept->c;
    autofree char *path = mem_printf("%s/%s", dir, id);
    if (!is_run_id(id) || id[RUN_ID_LEN])
        return 0;
    bool old = is_old(path);
    struct leftover_run *run = leftovers_run(&c->leftovers, id, err);
    if (!run)
        return -1;
    if (is_record_only(path)) {
        strv_push(&c->records, path);
        return 0;
    }
    autoclose int lock = -1;
    bool resumable = run->state && strcmp(run->state, "running") == 0;
    if (!run->state && !run->alive && c->opts->store && lock_unbegun(run, path, &lock))
        return remove_unbegun(c, path, err);
    own_close(&run->lock); /* there may be more runs than descriptors */
    bool needed = run->alive || (resumable && !(old && c->opts->all));
    if (needed || !(old || c->opts->all)) {
        ++*(needed ? &kept->needed : &kept->recent);
        return 0;
    }
    clean_measure(c, path);
    if (set_aside(c, path, err))
        return -1;
    keep_record(c, path, id);
    clean_tell(c, CLEAN_REMOVED, "logs", path, NULL,
               old ? "older than %d days" : "--all removes all logs", CLEAN_LOG_DAYS);
    return 0;
}

int clean_logs(struct cleaner *c, struct err *err)
{
    autofree char *path = runs_path(c->opts->state_dir);
    struct kept_logs kept = {.c = c};
    if (dirs_each(path, clean_log, &kept, err))
        return -1;
    report_kept_logs(&kept, path);
    return 0;
}

/* True if an entry of our temporary folder may belong to a live run. */
static int is_in_use(struct cleaner *c, const char *name, bool *ret_yes, struct err *err)
{
    *ret_yes = false;
    if (is_run_id(name)) {
        struct leftover_run *run = leftovers_run(&c->leftovers, name, err);
        *ret_yes = run && run->alive;
        return run ? 0 : -1;
    }
    *ret_yes = leftovers_any_alive(&c->leftovers);
    return 0;
}

static int clean_temporary_entry(void *ctx, const char *dir, const char *name, struct err *err)
{
    struct cleaner *c = ctx;
    autofree char *path = mem_printf("%s/%s", dir, name);
    bool used;
    if (strcmp(path, c->scratch) == 0)
        return 0;
    if (is_in_use(c, name, &used, err))
        return -1;
    if (used)
        return 0;
    strv_push(&c->delete_later, path);
    clean_measure(c, path);
    clean_tell(c, CLEAN_REMOVED, "folder", path, NULL, "a killed process left it");
    return 0;
}

int clean_temporary(struct cleaner *c, struct err *err)
{
    autofree char *path = mem_printf("%s/tmp", c->opts->state_dir);
    if (dirs_each(path, clean_temporary_entry, c, err))
        return -1;
    for (size_t i = 0; i < c->leftovers.retired.n; i++) {
        const char *retired = known_folder_path(c->leftovers.retired.v[i]);
        strv_push(&c->delete_later, c->leftovers.retired.v[i]);
        clean_measure(c, retired);
        clean_tell(c, CLEAN_REMOVED, "folder", retired, NULL, "a workspace that was being removed");
    }
    for (size_t i = 0; i < c->leftovers.foreign.n; i++)
        clean_tell(c, CLEAN_KEPT, "folder", c->leftovers.foreign.v[i], NULL,
                   "it is not a folder that we made; if nobody needs it, delete it");
    return 0;
}

/* Large trees take seconds to delete: another process does it in the background. */
static int delete_large_later(struct cleaner *c, pid_t *ret_pid, struct err *err)
{
    autostrv struct strv argv = {0};
    strv_pushl(&argv, c->opts->self, "__remove", "--idle", NULL);
    if (!leftovers_any_alive(&c->leftovers))
        strv_pushf(&argv, "--tidy=%s/lock", c->opts->state_dir);
    strv_push(&argv, "--");
    for (size_t i = 0; i < c->delete_later.n; i++)
        strv_push(&argv, c->delete_later.v[i]);
    struct spawn sp = {.argv = argv.v,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    return spawn_start(&sp, ret_pid, err);
}

/* Removes the folder of a run if it is empty. */
static int remove_if_empty(void *ctx, const char *dir, const char *name, struct err *err)
{
    autofree char *path = mem_printf("%s/%s", dir, name);
    (void)ctx;
    (void)err;
    if (is_run_id(name) && !name[RUN_ID_LEN])
        (void)rmdir(path);
    return 0;
}

/* Removes empty folders, but not while a run is alive: it may be about to make a workspace
 * there. */
static void remove_empty_folders(const struct cleaner *c)
{
    bool alive = leftovers_any_alive(&c->leftovers);
    autofree char *lock = mem_printf("%s/lock", c->opts->state_dir);
    for (size_t i = 0; i < c->leftovers.workspace_roots.n; i++) {
        remove_dead_layers(c, i);
        if (alive)
            continue;
        (void)dirs_each(c->leftovers.workspace_roots.v[i], remove_if_empty, NULL, NULL);
        root_folder_tidy(lock, c->leftovers.workspace_roots.v[i], "");
    }
}

/* Tries once more to delete what is left of some paths: the error says why it failed. */
static bool remove_remaining(const struct strv *paths, size_t from, size_t end, struct err *err)
{
    bool removed = true;
    for (size_t i = from; i < end; i++)
        removed = known_folder_remove(paths->v[i], removed ? err : NULL) == 0 && removed;
    return removed;
}

static bool any_exists(const struct strv *paths, size_t from, size_t end)
{
    bool exists = false;
    for (size_t i = from; i < end; i++)
        exists = exists || known_folder_is_there(paths->v[i]);
    return exists;
}

/* Reports for each thing if it is gone, being deleted or left. */
static void report_deleted(struct cleaner *c, bool deleting)
{
    for (size_t i = 0; i < c->pending_reports.n; i++) {
        const struct pending_report *d = &c->pending_reports.v[i];
        struct clean_item item = d->item;
        struct err err = {0};
        if (deleting && any_exists(&c->delete_later, d->delete_later, d->delete_later_end))
            item.action = CLEAN_DELETING;
        else if (!c->opts->dry_run &&
                 (!remove_remaining(&c->delete_now, d->delete_now, d->delete_now_end, &err) ||
                  !remove_remaining(&c->delete_later, d->delete_later, d->delete_later_end, &err)))
            item = (struct clean_item){.action = CLEAN_FAILED,
                                       .kind = item.kind,
                                       .name = item.name,
                                       .why = err.msg,
                                       .salvage = item.salvage,
                                       .bytes = -1};
        c->opts->tell(c->opts->ctx, &item);
    }
}

void clean_delete(struct cleaner *c)
{
    struct err err = {0};
    pid_t pid = 0;
    for (size_t i = 0; !c->opts->dry_run && i < c->delete_now.n; i++)
        (void)known_folder_remove(c->delete_now.v[i], NULL); /* report_deleted() checks */
    if (!c->opts->dry_run)
        remove_empty_folders(c);
    if (!c->opts->dry_run && c->delete_later.n && delete_large_later(c, &pid, &err))
        pid = 0;
    bool deleting = pid > 0 && !spawn_ended(pid, DELETE_WAIT_MS);
    report_deleted(c, deleting);
    if (pid > 0 && !deleting)
        (void)waitpid(pid, NULL, 0);
    if (!c->opts->dry_run)
        drop_records(c);
}
