/*
 * Changes of the configuration that all worktrees share, setting by setting.
 */
#include "run/watch/watch_private.h"

#include "base/mem.h"
#include "git/config/config_file.h"

#include <string.h>
#include <strings.h>

struct lookup {
    struct run *run;
    struct attempt *job;
    const struct git_change *change;
    char *path, *saved; /* the file, and the copy of it as it was found */
    size_t others;      /* settings that stay as they are now */
    bool wrote, whole;  /* to the file; all of it is as it was */
};

static bool is_true(const char *value)
{
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

/* With these, no git command works in the user's work tree. */
static bool breaks_checkout(const struct lookup *l, const char *key, struct git_values to)
{
    if (strcmp(l->change->name, "config") != 0 || !to.n)
        return false;
    return strcmp(key, "core.worktree") == 0 ||
           (strcmp(key, "core.bare") == 0 && is_true(to.v[to.n - 1].value));
}

static bool dir_names_program(const struct lookup *l, const char *key, struct git_values to)
{
    bool hooks = l->run->pf->plan.commit_hooks && strcmp(key, "core.hookspath") == 0;
    return to.n && (hooks || git_setting_is_program(key));
}

static bool is_put_back(const struct lookup *l, const char *key, struct git_values to)
{
    return dir_names_program(l, key, to) || breaks_checkout(l, key, to);
}

/* The whole file as it was, unless it has changed again. */
static bool put_file_back(struct lookup *l)
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

static bool save(struct lookup *l)
{
    if (!l->saved)
        l->saved = repo_watch_save(l->run, l->change->name, l->change->to);
    return l->saved != NULL;
}

/* With the rest of the file, where that is the same; else alone, and what others wrote stays. */
static bool put_back(struct lookup *l, const char *key, struct git_values from)
{
    struct err err = {0};
    if (l->whole || !save(l))
        return l->whole;
    if (!l->others && l->change->from.s && put_file_back(l)) {
        l->whole = true;
        return true;
    }
    l->wrote = true;
    if (git_settings_put(l->path, key, from, &err) == 0)
        return true;
    record_error(l->run, -1, &err);
    return false;
}

static void blame_job(struct lookup *l, struct attempt *job, const char *key, bool restored)
{
    if (!job || job->tampered)
        return;
    job->tampered = mem_printf(
        "'%s', which names a program that git would run, was set in the repository's %s%s%s", key,
        l->change->name, restored ? " while it ran, and was put back; what was set is in " : "",
        restored ? l->saved : "");
}

/* Who is the only one that can have done it; and where it is still there, who is about to have git
 * run it. */
static void blame(struct lookup *l, const char *key, bool restored)
{
    const shared_tasks *suspects = &l->run->shared->suspects;
    if (suspects->n == 1)
        blame_job(l, l->run->tasks[suspects->v[0]].job, key, restored);
    if (!restored)
        blame_job(l, l->job, key, restored);
}

static const char *shown(const struct lookup *l, const char *key, struct git_values values,
                         struct buf *out)
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

static void take_setting(void *ctx, const char *key, struct git_values from, struct git_values to)
{
    struct lookup *l = ctx;
    autobuf struct buf was = BUF_INIT, is = BUF_INIT, undo = BUF_INIT;
    bool program = dir_names_program(l, key, to);
    if (repo_watch_is_workspace(l->change->name) && !program)
        return; /* its own affair */
    struct finding f = {.what = "config", .name = key};
    f.restored = is_put_back(l, key, to) && put_back(l, key, from);
    f.saved = f.restored ? l->saved : NULL;
    if (program)
        blame(l, key, f.restored);
    f.from = shown(l, key, from, &was);
    f.to = shown(l, key, to, &is);
    if (!f.restored && from.n < 2 && !git_setting_is_secret(key)) {
        undo_setting(l->path, key, from.n ? from.v->value : NULL, &undo);
        f.undo = undo.s;
    }
    repo_watch_tell(l->run, &l->run->shared->suspects, &f);
}

static void count_others(void *ctx, const char *key, struct git_values from, struct git_values to)
{
    struct lookup *l = ctx;
    (void)from;
    l->others += !is_put_back(l, key, to);
}

/* Without a configuration that can be read there is no git at all. */
static void put_all_back(struct lookup *l)
{
    const struct git_change *c = l->change;
    struct finding f = {.what = "config", .name = c->name, .from = "readable"};
    f.to = c->to.s ? "unreadable" : NULL;
    f.restored = (!c->to.s || save(l)) && put_file_back(l);
    f.saved = l->saved;
    repo_watch_tell(l->run, &l->run->shared->suspects, &f);
}

static int read_settings(struct git_settings *s, struct git_content content, struct err *err)
{
    return content.s ? git_settings_read(s, content.s, content.len, err) : 0;
}

bool repo_watch_config(struct run *run, struct attempt *job, const struct git_change *change)
{
    struct lookup l = {.run = run, .job = job, .change = change};
    autosettings struct git_settings before = GIT_SETTINGS_INIT, now = GIT_SETTINGS_INIT;
    bool main_file = strcmp(change->name, "config") == 0;
    struct err err = {0}, none = {0};
    l.path = mem_printf("%s/%s", run->pf->repo.common, change->name);
    bool was_good = read_settings(&before, change->from, &none) == 0;
    bool is_good = read_settings(&now, change->to, &err) == 0;
    if (was_good && is_good && (change->to.s || !main_file)) {
        git_settings_compare(&before, &now, count_others, &l);
        git_settings_compare(&before, &now, take_setting, &l);
    } else if (was_good && main_file) {
        put_all_back(&l);
    } else if (!is_good) {
        record_error(run, -1, &err);
    }
    free(l.path);
    free(l.saved);
    return l.wrote;
}
