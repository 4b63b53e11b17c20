/*
 * Compares the configuration that all worktrees share, setting by setting.
 */
#include "run/watch/watch_private.h"

#include "base/mem.h"
#include "git/config/config_file.h"
#include "run/attempt/attempt.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"

#include <string.h>
#include <strings.h>

struct config_check {
    struct run *run;
    struct attempt *attempt;
    const struct git_change *change;
    struct repo_watch_look *look;
    char *path, *saved; /* the file, and our copy of its changed state */
    size_t unrestored;  /* settings that we do not restore */
    bool wrote, whole;  /* we wrote to the file; we restored the whole file */
};

static bool is_true(const char *value)
{
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

/* With these settings, no git command works in the user's work tree. */
static bool breaks_checkout(const struct config_check *l, const char *key, struct git_values to)
{
    if (strcmp(l->change->name, "config") != 0 || !to.n)
        return false;
    return strcmp(key, "core.worktree") == 0 ||
           (strcmp(key, "core.bare") == 0 && is_true(to.v[to.n - 1].value));
}

static bool names_program(const struct config_check *l, const char *key, struct git_values to)
{
    bool hooks = l->run->pf->plan.commit_hooks && strcmp(key, "core.hookspath") == 0;
    return to.n && (hooks || git_setting_is_program(key));
}

static bool must_restore(const struct config_check *l, const char *key, struct git_values to)
{
    return names_program(l, key, to) || breaks_checkout(l, key, to);
}

/* Restores the whole file, unless it has changed again. */
static bool restore_file(struct config_check *l)
{
    autobuf struct buf was = BUF_INIT, text = BUF_INIT;
    const struct git_change *c = l->change;
    struct err err = {0};
    bool done = false;
    buf_add(&text, c->from.s, c->from.len);
    if (c->to.s)
        buf_add(&was, c->to.s, c->to.len);
    if (git_settings_replace(l->path, c->to.s ? &was : NULL, &text, c->from.mode & 07777, &done,
                             &err))
        record_error(l->run, -1, &err);
    l->wrote = l->wrote || done;
    return done;
}

static bool save_changed_file(struct config_check *l)
{
    if (!l->saved)
        l->saved = repo_watch_save(l->run, l->change->name, l->change->to);
    return l->saved != NULL;
}

/* Restores a setting: the whole file if nothing else changed, otherwise only the setting, so
 * that other changes stay. */
static bool restore_setting(struct config_check *l, const char *key, struct git_values from)
{
    struct err err = {0};
    if (l->whole || !save_changed_file(l))
        return l->whole;
    if (!l->unrestored && l->change->from.s && restore_file(l)) {
        l->whole = true;
        return true;
    }
    l->wrote = true;
    if (git_settings_put(l->path, key, from, &err) == 0)
        return true;
    record_error(l->run, -1, &err);
    return false;
}

static void blame_task(struct config_check *l, struct attempt *attempt, const char *key,
                       bool restored)
{
    if (!attempt || attempt->tamper_error)
        return;
    attempt->tamper_error = mem_printf(
        "'%s' names a program that git would run and was set in the repository's %s%s%s", key,
        l->change->name,
        restored ? " while the task ran; we restored the file and saved the changed one as " : "",
        restored ? l->saved : "");
}

/* Blames the task if it is the only suspect. If the setting is still there, also blames the
 * attempt that is about to have git run its program. */
static void blame_suspects(struct config_check *l, const char *key, bool restored)
{
    const shared_tasks *suspects = &l->run->repo_watch->suspects;
    if (suspects->n == 1)
        blame_task(l, l->run->tasks[suspects->v[0]].attempt, key, restored);
    if (!restored)
        blame_task(l, l->attempt, key, restored);
}

static const char *format_value(const struct config_check *l, const char *key,
                                struct git_values values, struct buf *out)
{
    if (!values.n)
        return NULL;
    const char *value = values.v[values.n - 1].value;
    if (git_setting_is_secret(key))
        buf_addstr(out, "[MASKED]");
    else
        secrets_mask(&l->run->secrets, value, strlen(value), out);
    return out->s;
}

/* True if a command of ours has enabled this together with a worktree. */
static bool is_enabled_for_worktrees(const struct config_check *l, const char *key,
                                     struct git_values from, struct git_values to)
{
    return strcmp(key, "extensions.worktreeconfig") == 0 && !from.n && to.n == 1 && to.v->value &&
           strcmp(to.v->value, "true") == 0 && other_runs_made_ref(&l->look->others, l->run, NULL);
}

static void handle_setting(void *ctx, const char *key, struct git_values from, struct git_values to)
{
    struct config_check *l = ctx;
    autobuf struct buf was = BUF_INIT, is = BUF_INIT, undo = BUF_INIT;
    bool program = names_program(l, key, to);
    if (is_enabled_for_worktrees(l, key, from, to))
        return;
    if (repo_watch_is_workspace(l->change->name) && !program)
        return; /* a workspace may have its own settings */
    struct finding f = {.what = "config", .name = key};
    f.restored = must_restore(l, key, to) && restore_setting(l, key, from);
    f.saved = f.restored ? l->saved : NULL;
    if (program)
        blame_suspects(l, key, f.restored);
    f.from = format_value(l, key, from, &was);
    f.to = format_value(l, key, to, &is);
    if (!f.restored && from.n < 2 && !git_setting_is_secret(key)) {
        undo_setting(l->path, key, from.n ? from.v->value : NULL, &undo);
        f.undo = undo.s;
    }
    repo_watch_tell(l->run, &l->run->repo_watch->suspects, &f);
}

static void count_unrestored(void *ctx, const char *key, struct git_values from,
                             struct git_values to)
{
    struct config_check *l = ctx;
    (void)from;
    l->unrestored += !must_restore(l, key, to);
}

/* Restores an unreadable configuration: without one, git does not work at all. */
static void restore_all(struct config_check *l)
{
    const struct git_change *c = l->change;
    struct finding f = {.what = "config", .name = c->name, .from = "readable"};
    f.to = c->to.s ? "unreadable" : NULL;
    f.restored = (!c->to.s || save_changed_file(l)) && restore_file(l);
    f.saved = l->saved;
    repo_watch_tell(l->run, &l->run->repo_watch->suspects, &f);
}

static int read_settings(struct git_settings *s, struct git_content content, struct err *err)
{
    return content.s ? git_settings_read(s, content.s, content.len, err) : 0;
}

bool repo_watch_config(struct repo_watch_look *look, const struct git_change *change)
{
    struct run *run = look->run;
    struct config_check l = {.run = run, .attempt = look->attempt, .change = change, .look = look};
    autosettings struct git_settings before = GIT_SETTINGS_INIT, now = GIT_SETTINGS_INIT;
    bool main_file = strcmp(change->name, "config") == 0;
    struct err err = {0}, none = {0};
    l.path = mem_printf("%s/%s", run->pf->repo.common, change->name);
    bool was_good = read_settings(&before, change->from, &none) == 0;
    bool is_good = read_settings(&now, change->to, &err) == 0;
    if (was_good && is_good && (change->to.s || !main_file)) {
        git_settings_compare(&before, &now, count_unrestored, &l);
        git_settings_compare(&before, &now, handle_setting, &l);
    } else if (was_good && main_file) {
        restore_all(&l);
    } else if (!is_good) {
        record_error(run, -1, &err);
    }
    free(l.path);
    free(l.saved);
    return l.wrote;
}
