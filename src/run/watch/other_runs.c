#include "run/watch/other_runs.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/state_paths.h"
#include "run/resume/evidence.h"
#include "run/state/run_folder.h"
#include "run/state/run_state.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MAX = 1 << 20, LINK_MAX = 1 << 16 };

void other_runs_done(struct other_runs *o)
{
    map_done(&o->by_ref);
    strv_done(&o->refs);
    strv_done(&o->files);
    strv_done(&o->made);
    *o = (struct other_runs){0};
}

struct run_search {
    const struct run *run;
    struct strv ids;
};

/* Notes the runs that were not over when ours began. */
static bool note_run(void *ctx, const struct store_run *row)
{
    struct run_search *s = ctx;
    bool is_other = strcmp(row->id, s->run->id) != 0;
    if (is_other && (strcmp(row->state, "running") == 0 || row->finished >= s->run->started))
        strv_push(&s->ids, row->id);
    return true;
}

struct task_search {
    struct other_runs *others;
    const struct run_folder *saved;
};

static bool note_branch(void *ctx, const struct store_task *row)
{
    const struct task_search *s = ctx;
    autofree char *ref = evidence_branch(s->saved->options.branch, row->run, row->id);
    strv_push(&s->others->refs, ref);
    return true;
}

static void note_folder(struct other_runs *o, const struct run *run, const char *id)
{
    autofree char *dir = run_path(run->files.state, id);
    autosaved struct run_folder saved;
    struct task_search s = {.others = o, .saved = &saved};
    struct err none = {0};
    if (run_folder_load(&saved, dir, &none))
        return;
    if (saved.options.branch)
        (void)store_each_task(run->journal.store, id, note_branch, &s, &none);
    if (saved.options.own_file)
        strv_push(&o->files, saved.options.own_file);
    if (saved.options.log_dir)
        strv_pushf(&o->files, "%s/", saved.options.log_dir);
}

/* A worktree exists before git writes its HEAD, so its real path is known. */
static void load_notes(struct other_runs *o, const struct run *run)
{
    autofree char *path = mem_printf("%s/" RUN_MADE, run->files.dir);
    autobuf struct buf list = BUF_INIT;
    struct err none = {0};
    if (file_read_own(path, NOTES_MAX, &list, &none))
        return;
    for (const char *s = list.s; s < list.s + list.len; s += strlen(s) + 1) {
        autofree char *real = *s == '/' ? realpath(s, NULL) : NULL;
        if (*s != '/') {
            strv_push(&o->made, s);
            continue;
        }
        strv_push(&o->files, real ? real : s);
        strv_pushf(&o->files, "%s/", real ? real : s);
    }
}

static void load_others(struct other_runs *o, const struct run *run)
{
    struct run_search s = {.run = run};
    struct err none = {0}; /* without an answer we report the changes */
    if (o->loaded)
        return;
    o->loaded = true;
    (void)store_each_run(run->journal.store, note_run, &s, &none);
    for (size_t i = 0; i < s.ids.n; i++)
        note_folder(o, run, s.ids.v[i]);
    load_notes(o, run);
    for (size_t i = 0; i < o->refs.n; i++)
        (void)map_put(&o->by_ref, o->refs.v[i], strlen(o->refs.v[i]), o);
    strv_done(&s.ids);
}

bool other_runs_have_ref(struct other_runs *o, const struct run *run, const char *ref)
{
    load_others(o, run);
    return map_get(&o->by_ref, ref, strlen(ref)) != NULL;
}

static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return len && folder[len - 1] == '/' && strncmp(path, folder, len) == 0;
}

bool other_runs_have_file(struct other_runs *o, const struct run *run, const char *path)
{
    autofree char *full = mem_printf("%s/%s", run->pf->repo.root, path);
    bool found = false;
    load_others(o, run);
    for (size_t i = 0; i < o->files.n; i++) {
        const char *file = o->files.v[i];
        found = found || strcmp(full, file) == 0 || is_in(full, file) || is_in(file, full);
    }
    return found;
}

/* The folder of a worktree, with a slash at the end. git's link to it may be relative. */
static char *find_worktree(const struct run *run, const char *name)
{
    autofree char *admin =
        mem_printf("%s/%.*s", run->pf->repo.common, (int)(strrchr(name, '/') - name), name);
    autofree char *path = mem_printf("%s/gitdir", admin);
    autobuf struct buf link = BUF_INIT;
    struct err none = {0};
    if (file_read_own(path, LINK_MAX, &link, &none) || !strstr(link.s, "/.git"))
        return NULL;
    buf_cut(&link, (size_t)(strrchr(link.s, '/') - link.s));
    autofree char *dir = *link.s == '/' ? mem_str(link.s) : mem_printf("%s/%s", admin, link.s);
    autofree char *real = realpath(dir, NULL);
    return real ? mem_printf("%s/", real) : NULL;
}

bool other_runs_have_worktree(struct other_runs *o, const struct run *run, const char *name)
{
    autofree char *dir = find_worktree(run, name);
    bool found = false;
    load_others(o, run);
    for (size_t i = 0; dir && i < o->files.n; i++)
        found = found || strcmp(o->files.v[i], dir) == 0;
    return found;
}

bool other_runs_made_ref(struct other_runs *o, const struct run *run, const char *ref)
{
    load_others(o, run);
    for (size_t i = 0; ref && i < o->made.n; i++) {
        if (strcmp(o->made.v[i], ref) == 0)
            return true;
    }
    return !ref && o->made.n;
}

struct note {
    const char *state_dir;
    struct buf text;
    struct err *err;
    int rc;
};

/* The folder of a run that is gone needs no note. */
static bool add_note(void *ctx, const struct store_run *row)
{
    struct note *n = ctx;
    autofree char *path = run_file_path(n->state_dir, row->id, RUN_MADE);
    autoclose int fd = -1;
    struct err why = {0};
    if (strcmp(row->state, "running") != 0)
        return true;
    if (file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, &fd, &why) == 0 &&
        file_write(fd, n->text.s, n->text.len) < 0)
        (void)err_sys(&why, "write '%s'", path);
    if (why.code && why.errnum != ENOENT)
        n->rc = err_set(n->err, why.code, "%s", why.msg);
    return n->rc == 0;
}

int other_runs_note(struct store *store, const char *state_dir, const char *dir, const char *ref,
                    struct err *err)
{
    autofree char *here = realpath(".", NULL);
    if (!here)
        return err_sys(err, "open the current folder");
    struct note n = {.state_dir = state_dir, .text = BUF_INIT, .err = err};
    if (*dir != '/')
        buf_addf(&n.text, "%s/", here);
    buf_add(&n.text, dir, strlen(dir) + 1);
    if (ref)
        buf_add(&n.text, ref, strlen(ref) + 1);
    int rc = store_each_run(store, add_note, &n, err) ? -1 : n.rc;
    buf_done(&n.text);
    return rc;
}
