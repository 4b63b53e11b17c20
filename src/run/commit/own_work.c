#include "run/commit/own_work.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "git/format/tree.h"
#include "git/tree/line_edits.h"
#include "git/tree/tree_diff.h"
#include "plan/revert.h"
#include "run/attempt/attempt.h"
#include "run/prepare/prepare.h"
#include "run/state/run_state.h"
#include "run/watch/other_runs.h"
#include "workspace/fill/included.h"

#include <string.h>
#include <strings.h>

enum { COMMITS_MAX = 500 };

static const struct path_entry *copy_entry(struct arena *a, const struct tree_entry *e,
                                           size_t id_len)
{
    autobuf struct buf id = BUF_INIT;
    if (!e)
        return NULL;
    struct path_entry *kept = arena_alloc(a, sizeof(*kept));
    tree_id(&id, e->id, id_len);
    kept->mode = arena_printf(a, "%.*s", (int)strcspn(e->mode, " "), e->mode);
    kept->id = arena_str(a, id.s);
    return kept;
}

/* A change by others to a path. */
struct change {
    const struct path_entry *start, *landed;
};

struct search {
    struct arena arena;
    size_t id_len;
    struct map others;        /* path -> struct change */
    struct map added;         /* blob id -> an entry that only the task has */
    struct strv lines;        /* paths that both sides changed */
    VEC(const char *) moved;  /* paths that the task removed and others changed ... */
    VEC(struct change *) was; /* ... and the changes by others */
    struct strv *found;
};

static void search_done(struct search *s)
{
    map_done(&s->others);
    map_done(&s->added);
    strv_done(&s->lines);
    vec_done(&s->moved);
    vec_done(&s->was);
    arena_done(&s->arena);
}

static int collect_others_change(void *ctx, const char *path, const struct tree_entry *from,
                                 const struct tree_entry *to, struct err *err)
{
    struct search *s = ctx;
    (void)err;
    if ((from ? from : to)->is_tree)
        return 0;
    struct change *c = arena_alloc(&s->arena, sizeof(*c));
    const char *key = arena_str(&s->arena, path);
    *c = (struct change){copy_entry(&s->arena, from, s->id_len),
                         copy_entry(&s->arena, to, s->id_len)};
    (void)map_put(&s->others, key, strlen(key), c);
    return 0;
}

static void collect_added(struct search *s, const struct path_entry *made)
{
    (void)map_put(&s->added, made->id, strlen(made->id), (void *)made);
}

static int check_path(void *ctx, const char *path, const struct tree_entry *from,
                      const struct tree_entry *to, struct err *err)
{
    struct search *s = ctx;
    (void)err;
    if ((from ? from : to)->is_tree)
        return 0;
    struct change *c = map_get(&s->others, path, strlen(path));
    const struct path_entry *made = copy_entry(&s->arena, to, s->id_len);
    if (!c) {
        if (!from)
            collect_added(s, made);
        return 0;
    }
    enum revert revert = revert_judge(c->start, c->landed, made);
    if (revert == REVERT_WHOLE) {
        strv_push(s->found, path);
    } else if (revert == REVERT_LINES) {
        strv_push(&s->lines, path);
    } else if (!made) {
        vec_push(&s->moved, arena_str(&s->arena, path));
        vec_push(&s->was, c);
    }
    return 0;
}

static void check_moves(struct search *s)
{
    for (size_t i = 0; i < s->moved.n; i++) {
        const struct change *c = s->was.v[i];
        const struct path_entry *moved =
            c->start ? map_get(&s->added, c->start->id, strlen(c->start->id)) : NULL;
        if (revert_moves_old(c->start, c->landed, NULL, moved))
            strv_push(s->found, s->moved.v[i]);
    }
}

static int collect_path(void *ctx, const char *path, const struct tree_entry *from,
                        const struct tree_entry *to, struct err *err)
{
    struct strv *paths = ctx;
    (void)err;
    if (!(from ? from : to)->is_tree)
        strv_push(paths, path);
    return 0;
}

/* Both lists of edits start from the landed text. */
static int check_lines(const struct attempt *attempt, struct search *s, const char *start,
                       const char *landed, const char *made, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    own_cleanup(line_edits_done) struct line_edits undo = LINE_EDITS_INIT, own = LINE_EDITS_INIT;
    if (!s->lines.n)
        return 0;
    if (line_edits_read(&at, landed, start, &s->lines, &undo, err) ||
        line_edits_read(&at, landed, made, &s->lines, &own, err))
        return -1;
    for (size_t i = 0; i < s->lines.n; i++) {
        struct file_edits u = line_edits_of(&undo, s->lines.v[i]);
        struct file_edits o = line_edits_of(&own, s->lines.v[i]);
        if (revert_undoes_any(u.v, u.n, o.v, o.n))
            strv_push(s->found, s->lines.v[i]);
    }
    return 0;
}

/* `made` is a tree. */
static int find_reverts(const struct attempt *attempt, const char *start, const char *landed,
                        const char *made, struct strv *ret, struct err *err)
{
    own_cleanup(search_done) struct search s = {.id_len = strlen(made) / 2, .found = ret};
    struct git_batch *batch = attempt->run->batch;
    if (strcmp(start, landed) == 0)
        return 0;
    if (tree_diff_each(batch, start, landed, collect_others_change, &s, err) ||
        tree_diff_each(batch, landed, made, check_path, &s, err))
        return -1;
    check_moves(&s);
    return check_lines(attempt, &s, start, landed, made, err);
}

/* Finds where the task and a base diverged: one of several bases may be older than the task's
 * start. */
static int find_common(const struct attempt *attempt, const char *origin, const char *base,
                       bool alone, struct buf *ret, struct err *err)
{
    struct git_place at = run_place(attempt->run);
    if (alone) {
        buf_addstr(ret, origin);
        return 0;
    }
    return git_call(&at, ret, err, "merge-base", origin, base, NULL);
}

int own_work_reverts(const struct attempt *attempt, const struct commit_draft *draft,
                     struct strv *ret, struct err *err)
{
    const struct task_run *tr = &attempt->run->tasks[attempt->task];
    const char *origin = tr->first_start ? tr->first_start : tr->start;
    const struct own_history *own = &draft->own;
    for (size_t i = 0; i < own->bases.n; i++) {
        autobuf struct buf start = BUF_INIT;
        if (find_common(attempt, origin, own->bases.v[i], own->bases.n == 1, &start, err) ||
            find_reverts(attempt, start.s, own->bases.v[i], draft->tree.s, ret, err))
            return -1;
    }
    return own->fork.len ? find_reverts(attempt, own->fork.s, tr->start, draft->tree.s, ret, err)
                         : 0;
}

struct inspection {
    const struct attempt *attempt;
    struct arena arena;
    size_t id_len;
    const char *base;
    struct map result; /* path -> its entry in the result, if that changed it */
    struct included brought;
    bool dirty;
};

static void inspection_done(struct inspection *in)
{
    map_done(&in->result);
    included_close(&in->brought);
    arena_done(&in->arena);
}

static int collect_result(void *ctx, const char *path, const struct tree_entry *from,
                          const struct tree_entry *to, struct err *err)
{
    static const struct path_entry nothing = {"", ""};
    struct inspection *in = ctx;
    (void)err;
    if ((from ? from : to)->is_tree)
        return 0;
    const char *key = arena_str(&in->arena, path);
    const struct path_entry *e = copy_entry(&in->arena, to, in->id_len);
    (void)map_put(&in->result, key, strlen(key), (void *)(e ? e : &nothing));
    return 0;
}

/* git neither writes nor checks out a tree with such a name. */
static bool is_odd_name(const char *name, size_t len)
{
    return len == 0 || (len <= 2 && strncmp("..", name, len) == 0) ||
           (len == 4 && strncasecmp(name, ".git", len) == 0);
}

static bool is_odd(const char *path, const struct tree_entry *to)
{
    for (size_t len;; path += len + 1) {
        len = strcspn(path, "/");
        if (is_odd_name(path, len))
            return true;
        if (!path[len])
            break;
    }
    return to && !tree_is_usual(to);
}

static int check_secrets(struct inspection *in, const char *id, struct err *err)
{
    enum { BLOB_MAX = 16 << 20 };
    const struct secrets *secrets = &in->attempt->run->secrets;
    autobuf struct buf text = BUF_INIT;
    size_t size;
    if (git_batch_size(in->attempt->run->batch, id, &size, err))
        return -1;
    if (size <= BLOB_MAX && git_batch_read(in->attempt->run->batch, id, &text, err))
        return -1;
    in->dirty = in->dirty || size > BLOB_MAX || secrets_are_in(secrets, text.s, text.len);
    return 0;
}

/* Checks a path that the result does not change. The agent may have changed a file of the base and
 * restored it, if the task owns the path. */
static int check_passing(struct inspection *in, const char *path, struct err *err)
{
    const struct attempt *attempt = in->attempt;
    autobuf struct buf tree = BUF_INIT, id = BUF_INIT;
    struct git_place at = run_place(attempt->run);
    bool known = false;
    if (!claims_allow(&attempt->run->pf->claims, attempt->task, path)) {
        in->dirty = true;
        return 0;
    }
    if (git_tree_of(&at, in->base, &tree, err) ||
        tree_find(at.batch, tree.s, path, &id, &known, err))
        return -1;
    in->dirty = !known;
    return 0;
}

static int inspect_path(void *ctx, const char *path, const struct tree_entry *from,
                        const struct tree_entry *to, struct err *err)
{
    struct inspection *in = ctx;
    if (in->dirty || (from ? from : to)->is_tree)
        return 0;
    const struct path_entry *result = map_get(&in->result, path, strlen(path));
    autobuf struct buf id = BUF_INIT;
    in->dirty = included_has(&in->brought, path) || is_odd(path, to);
    if (!in->dirty && !result && check_passing(in, path, err))
        return -1;
    if (in->dirty || !to || strncmp(to->mode, "16", 2) == 0 || !in->attempt->run->secrets.values.n)
        return 0;
    tree_id(&id, to->id, in->id_len);
    return result && strcmp(id.s, result->id) == 0 ? 0 : check_secrets(in, id.s, err);
}

static int inspect_commits(struct inspection *in, const struct commit_draft *draft, struct err *err)
{
    struct git_place at = run_place(in->attempt->run);
    const struct own_history *own = &draft->own;
    if (included_open(&in->brought, in->attempt->prepare.included_list,
                      in->attempt->run->pf->repo.root, err) ||
        tree_diff_each(at.batch, own->bases.v[0], draft->tree.s, collect_result, in, err))
        return -1;
    for (size_t i = 0; i < own->commits.n && !in->dirty; i++) {
        bool known;
        if (own_history_changes(&at, own, i, inspect_path, in, &known, err))
            return -1;
        in->dirty = in->dirty || !known;
    }
    return 0;
}

int own_work_is_dirty(const struct attempt *attempt, const struct commit_draft *draft,
                      bool *ret_dirty, struct err *err)
{
    own_cleanup(inspection_done) struct inspection in = {.attempt = attempt,
                                                         .base = draft->own.bases.v[0],
                                                         .id_len = strlen(draft->tree.s) / 2,
                                                         .brought = BROUGHT_INIT};
    const struct own_history *own = &draft->own;
    *ret_dirty = own->commits.n > COMMITS_MAX || own->bases.n > 1;
    if (*ret_dirty || !own->commits.n)
        return 0;
    if (inspect_commits(&in, draft, err))
        return -1;
    *ret_dirty = in.dirty;
    return 0;
}

static void drop_others(struct buf *paths, const struct strv *differs)
{
    automap struct map there = {0};
    autobuf struct buf kept = BUF_INIT;
    for (size_t i = 0; i < differs->n; i++)
        (void)map_put(&there, differs->v[i], strlen(differs->v[i]), differs->v[i]);
    for (const char *p = paths->s; p < paths->s + paths->len; p += strlen(p) + 1) {
        if (map_get(&there, p, strlen(p)))
            buf_add(&kept, p, strlen(p) + 1);
    }
    buf_cut(paths, 0);
    buf_add(paths, kept.s, kept.len);
}

/* A path that equals one of the bases is not the task's change. */
int own_work_paths(const struct attempt *attempt, const struct commit_draft *draft,
                   const char *commit, struct buf *out, struct err *err)
{
    const struct strv *bases = &draft->own.bases;
    if (tree_diff(attempt->run->batch, bases->v[0], commit, out, err))
        return -1;
    for (size_t i = 1; i < bases->n; i++) {
        autostrv struct strv differs = {0};
        if (tree_diff_each(attempt->run->batch, bases->v[i], commit, collect_path, &differs, err))
            return -1;
        drop_others(out, &differs);
    }
    return 0;
}
