/*
 * Compares the shared state with that of the last look, part by part.
 */
#include "run/watch/watch_private.h"

#include "base/mem.h"
#include "base/text/hash.h"
#include "base/text/str.h"
#include "git/format/loose_ref.h"
#include "git/state_paths.h"
#include "run/attempt/attempt.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "run/watch/watch.h"
#include "workspace/commit/salvage.h"
#include "workspace/commit/vault.h"

#include <ctype.h>
#include <string.h>

static void report_change(struct repo_watch_look *l, const struct finding *f)
{
    if (l->told++ < SHARED_MAX)
        repo_watch_tell(l->run, &l->run->repo_watch->suspects, f);
    else
        l->more++;
}

void repo_watch_tell_odd(struct repo_watch_look *l, const char *name)
{
    report_change(l, &(struct finding){.what = "special", .name = name, .restored = true});
}

static void report_ref(struct repo_watch_look *l, const struct git_change *c)
{
    autobuf struct buf undo = BUF_INIT;
    autofree char *kept = c->from.s ? repo_watch_keep(l->run, c->from.s) : NULL;
    undo_ref(c, &undo);
    report_change(l, &(struct finding){.what = "ref",
                                       .name = c->name,
                                       .from = c->from.s,
                                       .to = c->to.s,
                                       .undo = undo.s,
                                       .kept = kept});
}

static bool ref_is_at(const struct git_place *at, const char *ref, const char *commit)
{
    autobuf struct buf now = BUF_INIT;
    return git_resolve(at, ref, &now, NULL) == 0 && strcmp(now.s, commit) == 0;
}

static bool has_object(const struct git_place *at, const char *commit)
{
    autofree char *name = mem_printf("%s^{object}", commit);
    autobuf struct buf found = BUF_INIT;
    return git_resolve(at, name, &found, NULL) == 0;
}

/* Restores saved work from the vault. If the vault no longer has it, a person dropped it with
 * our program, or somebody has changed the vault, too. */
static void check_salvage(struct repo_watch_look *l, const struct git_change *c)
{
    struct git_place at = {.git_dir = l->run->pf->repo.common};
    autostrv struct strv restored_refs = {0};
    autobuf struct buf undo = BUF_INIT;
    struct err err = {0};
    if (!c->from.s) /* every run makes new refs */
        return;
    if (vault_restore(&at, c->name, &restored_refs, &err))
        record_error(l->run, -1, &err);
    bool restored = ref_is_at(&at, c->name, c->from.s);
    bool lost = !restored && !has_object(&at, c->from.s);
    if (!restored && !lost)
        undo_ref(c, &undo);
    report_change(l, &(struct finding){.what = "ref",
                                       .name = c->name,
                                       .from = c->from.s,
                                       .to = c->to.s,
                                       .undo = undo.len ? undo.s : NULL,
                                       .restored = restored,
                                       .lost = lost});
}

void shared_conflicted(struct run *run, uint32_t task)
{
    const struct task_run *tr = &run->tasks[task];
    struct git_place at = run_place(run);
    autobuf struct buf commit = BUF_INIT;
    struct err note = {0}, err = {0};
    if (!run->repo_watch || !str_begins(tr->branch, VAULT_BRANCHES))
        return;
    if (git_resolve(&at, tr->branch, &commit, &note) == 0) {
        vec_push(&run->repo_watch->conflicts, (struct shared_conflict){task, mem_str(commit.s)});
        const char *start = tr->start ? tr->start : run->base.start;
        if (vault_keep(&at, tr->branch, commit.s, start, &note, &err))
            record_error(run, task, &err);
    }
    if (note.code)
        record_error(run, task, &note);
}

static bool has_commit(const struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    bool yes = false;
    return git_is_ancestor(&at, commit, run->base.ref, &yes, NULL) == 0 && yes;
}

/* Restores the branch of a task in conflict, unless a person has resolved the conflict: then
 * they may delete it. */
static void restore_branch(struct repo_watch_look *l, const struct shared_conflict *c)
{
    struct git_place at = {.git_dir = l->run->pf->repo.common};
    const char *ref = l->run->tasks[c->task].branch;
    autostrv struct strv restored_refs = {0};
    struct err err = {0};
    if (has_commit(l->run, c->commit))
        return;
    if (vault_restore(&at, ref, &restored_refs, &err))
        record_error(l->run, c->task, &err);
    struct finding f = {
        .what = "ref", .name = ref, .from = c->commit, .restored = ref_is_at(&at, ref, c->commit)};
    report_change(l, &f);
}

/* Follows the branch: a person who resolves the conflict commits or rebases. */
static void follow_branch(struct repo_watch_look *l, struct shared_conflict *c, const char *now)
{
    struct git_place at = run_place(l->run);
    struct git_change change = {.name = l->run->tasks[c->task].branch,
                                .from = {.s = c->commit, .len = strlen(c->commit)},
                                .to = {.s = now, .len = strlen(now)}};
    bool above = false;
    struct err none = {0}, err = {0};
    if (git_is_ancestor(&at, c->commit, now, &above, NULL) || !above)
        report_ref(l, &change);
    if (vault_keep(&at, change.name, now, l->run->base.start, &none, &err))
        record_error(l->run, c->task, &err);
    free(c->commit);
    c->commit = mem_str(now);
}

void shared_look_at_conflicts(struct repo_watch_look *l)
{
    struct repo_watch *s = l->run->repo_watch;
    struct git_place at = run_place(l->run);
    size_t kept = 0;
    for (size_t i = 0; i < s->conflicts.n; i++) {
        struct shared_conflict c = s->conflicts.v[i];
        const struct task_run *tr = &l->run->tasks[c.task];
        autobuf struct buf now = BUF_INIT;
        struct err none = {0};
        if (tr->life->state != TASK_CONFLICTED) { /* the agent works on it again */
            (void)vault_drop(&at, tr->branch, &none);
            free(c.commit);
            continue;
        }
        bool there = loose_ref_read(l->run->pf->repo.common, tr->branch, &now) ||
                     git_resolve(&at, tr->branch, &now, &none) == 0;
        if (!there)
            restore_branch(l, &c);
        else if (strcmp(now.s, c.commit) != 0)
            follow_branch(l, &c, now.s);
        s->conflicts.v[kept++] = c;
    }
    s->conflicts.n = kept;
}

void repo_watch_restore_tip(struct run *run)
{
    struct git_place at = run_place(run);
    autobuf struct buf now = BUF_INIT;
    struct err err = {0}, none = {0};
    bool moved = false;
    if (git_resolve(&at, run->base.tip_ref, &now, &none) == 0 && strcmp(now.s, run->base.tip) == 0)
        return;
    if (git_move_ref(&at, run->base.tip_ref, now.s, run->base.tip, "anabranch: restore", &moved,
                     &err))
        record_error(run, -1, &err);
    struct finding f = {.what = "ref",
                        .name = run->base.tip_ref,
                        .from = run->base.tip,
                        .to = now.len ? now.s : NULL,
                        .restored = moved};
    if (run->repo_watch)
        repo_watch_tell(run, &run->repo_watch->suspects, &f);
}

struct tip_search {
    const struct run *run;
    const char *tips; /* " REF REF ... " */
    bool found;
};

static bool find_run_of_tip(void *ctx, const struct store_run *row)
{
    struct tip_search *o = ctx;
    autofree char *ref = mem_printf("\n" TIP_REFS "%s\n", row->id);
    o->found = strcmp(row->id, o->run->id) != 0 && strcmp(row->state, "running") == 0 &&
               strstr(o->tips, ref);
    return !o->found;
}

/* True if another running run has merged the commit: its tip contains it. */
static bool is_in_other_tip(struct run *run, const char *commit)
{
    struct git_place at = run_place(run);
    autobuf struct buf out = BUF_INIT;
    struct err none = {0};
    buf_addch(&out, '\n');
    if (git_call(&at, &out, &none, "for-each-ref", "--contains", commit, "--format=%(refname)",
                 TIP_REFS, NULL))
        return false;
    buf_addch(&out, '\n');
    struct tip_search o = {.run = run, .tips = out.s};
    return store_each_run(run->journal.store, find_run_of_tip, &o, &none) == 0 && o.found;
}

/* True if another run has landed the commit, according to the store and the refs of runs. Anyone
 * could fake the commit message, so we do not read it. */
static bool was_landed_by_other_run(struct run *run, const char *commit)
{
    struct err none = {0};
    bool yes = false;
    return (store_has_landed(run->journal.store, commit, &yes, &none) == 0 && yes) ||
           is_in_other_tip(run, commit);
}

static void report_base(struct repo_watch_look *l, const char *from, const char *to)
{
    struct repo_watch *s = l->run->repo_watch;
    struct git_change c = {.name = l->run->base.ref,
                           .from = {.s = from, .len = strlen(from)},
                           .to = {.s = to, .len = to ? strlen(to) : 0}};
    if (to && s->base_told && strcmp(s->base_told, to) == 0)
        return;
    free(s->base_told);
    s->base_told = to ? mem_str(to) : NULL;
    if (!to || !was_landed_by_other_run(l->run, to))
        report_ref(l, &c);
}

/* True if the run put the base there, is about to, or has seen that someone else did. */
static bool is_known_to_run(const struct run *run, const char *commit)
{
    const char *target = run->publisher.target;
    return strcmp(commit, run->base.published) == 0 ||
           (publication_is_busy(&run->publisher.publication) && target &&
            strcmp(commit, target) == 0);
}

void repo_watch_followed(struct run *run, const char *from, const char *to)
{
    struct repo_watch_look l = {.run = run};
    if (run->repo_watch && run->repo_watch->suspects.n && !is_known_to_run(run, to))
        report_base(&l, from, to);
}

static void check_ref(struct repo_watch_look *l, const struct git_change *c)
{
    const struct run *run = l->run;
    if (str_begins(c->name, SALVAGE_REFS)) {
        check_salvage(l, c);
    } else if (str_begins(c->name, "refs/anabranch/")) {
        if (strcmp(c->name, run->base.tip_ref) == 0 &&
            (!c->to.s || strcmp(c->to.s, run->base.tip) != 0))
            repo_watch_restore_tip(l->run);
    } else if (strcmp(c->name, run->base.ref) == 0) {
        if (!c->to.s || !is_known_to_run(run, c->to.s))
            report_base(l, run->base.published, c->to.s);
    } else if (str_begins(c->name, "refs/remotes/")) {
        l->remotes++;
    } else if (!map_get(&run->repo_watch->ours, c->name, strlen(c->name)) &&
               !other_runs_have_ref(&l->others, run, c->name) &&
               (c->from.s || !other_runs_made_ref(&l->others, run, c->name)) &&
               (run->repo_watch->state.tables || strcmp(c->name, "refs/stash") != 0)) {
        report_ref(l, c); /* otherwise the reflog of the stash says more */
    }
}

/* True for "worktrees/20260301-120000-abcd-TASK/HEAD", the files of a workspace of any run. */
bool repo_watch_is_workspace(const char *name)
{
    static const char form[] = "00000000-000000-xxxx-";
    if (!str_begins(name, "worktrees/"))
        return false;
    name += strlen("worktrees/");
    for (size_t i = 0; form[i]; i++) {
        unsigned char c = (unsigned char)name[i];
        if (form[i] == '0' ? !isdigit(c) : form[i] == 'x' ? !isxdigit(c) : c != '-')
            return false;
    }
    return true;
}

/* True for the settings of a worktree that a command of ours has made. */
static bool is_own_setting(struct repo_watch_look *l, const struct git_change *c)
{
    return !c->from.s && str_begins(c->name, "worktrees/") &&
           other_runs_have_worktree(&l->others, l->run, c->name);
}

/* True if a command of ours has made this worktree. At first, git writes zeros into its HEAD. */
static bool is_own_worktree(struct repo_watch_look *l, const struct git_change *c)
{
    bool is_new = c->to.s && (!c->from.s || c->from.s[strspn(c->from.s, "0")] == '\0');
    return is_new && str_begins(c->name, "worktrees/") &&
           other_runs_have_worktree(&l->others, l->run, c->name);
}

static void check_head(struct repo_watch_look *l, const struct git_change *c)
{
    const struct git_repo *repo = &l->run->pf->repo;
    autofree char *own = mem_printf("%s/HEAD", repo->git_dir);
    autofree char *path = mem_printf("%s/%s", repo->common, c->name);
    autobuf struct buf undo = BUF_INIT;
    if (repo_watch_is_workspace(c->name) || is_own_worktree(l, c))
        return;
    if (c->from.s && strcmp(path, own) == 0)
        undo_head(c, repo->root, &undo);
    report_change(l, &(struct finding){.what = "head",
                                       .name = c->name,
                                       .from = c->from.s,
                                       .to = c->to.s,
                                       .undo = undo.len ? undo.s : NULL});
}

/* Reports the lines that are in `a` but not in `b`. The second word of a line is the id of its
 * stash. */
static void compare_stashes(struct repo_watch_look *l, const char *a, const char *b, bool lost)
{
    autofree char *lines = mem_str(a ? a : "");
    for (char *next = lines, *line; (line = strsep(&next, "\n")) && *line;) {
        char *id = strchr(line, ' '), *message = strchr(line, '\t');
        size_t len = id ? strcspn(id + 1, " ") : 0;
        if (!id || !message)
            continue;
        autofree char *commit = mem_dup(id + 1, len);
        if (b && strstr(b, commit))
            continue;
        autofree char *kept = lost ? repo_watch_keep(l->run, commit) : NULL;
        autobuf struct buf undo = BUF_INIT;
        undo_stash(message + 1, commit, &undo);
        report_change(l, &(struct finding){.what = "stash",
                                           .name = message + 1,
                                           .from = lost ? commit : NULL,
                                           .to = lost ? NULL : commit,
                                           .undo = lost ? undo.s : NULL,
                                           .kept = kept});
    }
}

static const char *hash_content(struct git_content content, char hex[HASH_SHA256_DIGITS + 1])
{
    if (!content.s)
        return NULL;
    sha256_hex(content.s, content.len, hex);
    return hex;
}

static void check_file(struct repo_watch_look *l, const struct git_change *c)
{
    struct repo_watch *s = l->run->repo_watch;
    autofree char *path = mem_printf("%s/%s", l->run->pf->repo.common, c->name);
    autofree char *saved = c->from.s ? repo_watch_save(l->run, c->name, c->from) : NULL;
    autobuf struct buf undo = BUF_INIT;
    char from[HASH_SHA256_DIGITS + 1], to[HASH_SHA256_DIGITS + 1];
    bool hook = c->part == GIT_PART_HOOK;
    if (hook && !s->changed_hook)
        s->changed_hook = mem_str(c->name);
    undo_file(path, saved, &undo);
    report_change(l, &(struct finding){.what = hook ? "hook" : "file",
                                       .name = c->name,
                                       .from = hash_content(c->from, from),
                                       .to = hash_content(c->to, to),
                                       .undo = undo.s,
                                       .saved = saved});
}

void repo_watch_look_at(struct repo_watch_look *l, const struct git_change *c)
{
    switch (c->part) {
    case GIT_PART_REF:
        check_ref(l, c);
        break;
    case GIT_PART_HEAD:
        check_head(l, c);
        break;
    case GIT_PART_STASH:
        compare_stashes(l, c->from.s, c->to.s, true);
        compare_stashes(l, c->to.s, c->from.s, false);
        break;
    case GIT_PART_CONFIG:
        if (!l->wrote && !is_own_setting(l, c))
            l->wrote = repo_watch_config(l, c);
        break;
    case GIT_PART_HOOK:
    case GIT_PART_FILE:
        check_file(l, c);
        break;
    }
}

void repo_watch_look_done(struct repo_watch_look *l)
{
    const shared_tasks *suspects = &l->run->repo_watch->suspects;
    struct finding remotes = {.what = "ref", .name = "refs/remotes", .more = l->remotes};
    struct finding rest = {.what = "ref", .more = l->more};
    if (l->remotes)
        repo_watch_tell(l->run, suspects, &remotes);
    if (l->more)
        repo_watch_tell(l->run, suspects, &rest);
    other_runs_done(&l->others);
}
