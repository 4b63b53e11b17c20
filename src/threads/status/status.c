#include "threads/status/status.h"

#include "base/mem.h"
#include "base/text/str.h"
#include "git/batch.h"
#include "git/merge/history.h"
#include "git/tree/tree_diff.h"
#include "threads/status/changes.h"
#include "threads/status/conflicts.h"

#include <string.h>

/* Caches the id of a name. */
struct cached_id {
    char *name, *id;
};

struct status_query {
    const struct git_repo *repo;
    struct git_batch *batch;
    const struct threads *threads;
    struct git_place at;
    const char *base;      /* overrides the base of each thread */
    struct strv upstreams; /* full names of base branches, each followed by its upstream */
    struct cached_id cached_base, cached_commit,
        cached_upstream; /* of the previous thread: most have the same */
    struct thread_looks *looks;
};

const char *thread_merge_name(enum thread_merge merge)
{
    static const char *const names[] = {"nothing", "clean", "conflict", "untested"};
    return names[merge];
}

static void look_done(struct thread_look *l)
{
    char *const strings[] = {l->problem, l->head, l->elsewhere, l->there, l->there_subject,
                             l->subject, l->base, l->fork,      l->since};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        free(strings[i]);
    strv_done(&l->own_bases);
    strv_done(&l->uncommitted);
    strv_done(&l->conflicts);
    buf_done(&l->paths);
    own_verdict_done(&l->own);
    vec_done(&l->meetings);
}

void thread_looks_close(struct thread_looks *ls)
{
    for (size_t i = 0; i < ls->n; i++)
        look_done(&ls->v[i]);
    free(ls->v);
    *ls = (struct thread_looks){0};
}

void thread_look_fail(struct thread_look *l, const char *words)
{
    if (!l->problem)
        l->problem = mem_dup(words, strcspn(words, "\n"));
}

/* Resolves a name. *ret is NULL if it does not exist. */
static int resolve_commit(const struct status_query *lk, const char *name, char **ret,
                          struct err *err)
{
    autobuf struct buf id = BUF_INIT;
    autofree char *expression = mem_printf("%s^{commit}", name);
    bool found;
    if (git_batch_resolve(lk->batch, expression, &id, &found, err))
        return -1;
    *ret = found ? mem_str(id.s) : NULL;
    return 0;
}

static void known_done(struct cached_id *k)
{
    free(k->name);
    free(k->id);
}

static int resolve_cached(const struct status_query *lk, struct cached_id *k, const char *name,
                          char **ret, struct err *err)
{
    if (!k->name || strcmp(k->name, name) != 0) {
        autofree char *id = NULL;
        if (resolve_commit(lk, name, &id, err))
            return -1;
        known_done(k);
        *k = (struct cached_id){.name = mem_str(name), .id = steal_ptr(id)};
    }
    *ret = k->id ? mem_str(k->id) : NULL;
    return 0;
}

static int read_subject(const struct status_query *lk, const char *commit, char **ret,
                        struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (git_batch_read(lk->batch, commit, &text, err))
        return -1;
    const char *message = strstr(text.s, "\n\n");
    message = message ? message + 2 + strspn(message + 2, "\n") : "";
    *ret = mem_dup(message, strcspn(message, "\n"));
    return 0;
}

static bool is_commit(const char *head)
{
    return head && !strchr(head, '('); /* "(initial)" */
}

static int add_base(const struct status_query *lk, struct cached_id *k, struct thread_look *l,
                    const char *name, struct err *err)
{
    autofree char *id = NULL;
    if (resolve_cached(lk, k, name, &id, err))
        return -1;
    if (id)
        strv_push(&l->own_bases, id);
    return 0;
}

static int add_bases(struct status_query *lk, struct thread_look *l, struct err *err)
{
    const struct thread *t = l->thread;
    if (add_base(lk, &lk->cached_commit, l, t->base_commit, err))
        return -1;
    if (t->base && add_base(lk, &lk->cached_base, l, t->base, err))
        return -1;
    for (size_t i = 0; t->base && i < lk->upstreams.n; i += 2) {
        if (strcmp(lk->upstreams.v[i], t->base) == 0 &&
            add_base(lk, &lk->cached_upstream, l, lk->upstreams.v[i + 1], err))
            return -1;
    }
    return 0;
}

/* Asks for all base branches with one process. */
static int find_upstreams(struct status_query *lk, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    int status;
    strv_pushl(&args, "for-each-ref", "--format=%(refname) %(upstream)", NULL);
    for (size_t i = 0; i < lk->threads->n; i++) {
        const char *base = lk->threads->v[i].base;
        if (base && (args.n < 3 || strcmp(args.v[args.n - 1], base) != 0))
            strv_push(&args, base);
    }
    if (args.n < 3)
        return 0;
    if (git_try(&lk->at, &args, &out, NULL, &status, err))
        return -1;
    for (char *rest = out.s, *line; status == 0 && (line = strsep(&rest, "\n"));) {
        const char *base = strsep(&line, " ");
        if (line && *line)
            strv_pushl(&lk->upstreams, base, line, NULL);
    }
    return 0;
}

/* If the base was removed, we use the commit that the thread started from. */
static int find_commits(struct status_query *lk, struct thread_look *l, struct err *err)
{
    const struct thread *t = l->thread;
    const char *base = lk->base ? lk->base : t->base;
    if (l->problem)
        return 0;
    if (l->elsewhere) {
        autofree char *there = steal_ptr(l->head);
        l->there = is_commit(there) ? steal_ptr(there) : NULL;
        if (resolve_commit(lk, t->branch, &l->head, err) ||
            (l->there && read_subject(lk, l->there, &l->there_subject, err)))
            return -1;
    }
    if ((base && resolve_cached(lk, &lk->cached_base, base, &l->base, err)) ||
        (!l->base && resolve_cached(lk, &lk->cached_commit, t->base_commit, &l->base, err)))
        return -1;
    if (!is_commit(l->head))
        thread_look_fail(l, "its branch is gone");
    else if (!l->base)
        thread_look_fail(l, "the commit that it was made from is gone");
    return l->problem                                                             ? 0
           : read_subject(lk, l->head, &l->subject, err) || add_bases(lk, l, err) ? -1
                                                                                  : 0;
}

static char *copy_id(const char *id)
{
    return id ? mem_str(id) : NULL;
}

static void count_commits(struct history *h, struct thread_look *l)
{
    const char *const bases[] = {l->base};
    const char *const *own = (const char *const *)l->own_bases.v;
    size_t behind;
    history_count(h, l->head, l->base, &l->ahead, &l->behind);
    if (l->there)
        history_count(h, l->there, l->base, &l->there_ahead, &behind);
    l->fork = copy_id(history_fork(h, l->head, bases, 1));
    l->since = copy_id(history_fork(h, l->head, own, l->own_bases.n));
}

static int count_all_commits(const struct status_query *lk, struct err *err)
{
    autostrv struct strv tips = {0};
    autohistory struct history h = {0};
    for (size_t i = 0; i < lk->looks->n; i++) {
        const struct thread_look *l = &lk->looks->v[i];
        if (l->problem)
            continue;
        strv_pushl(&tips, l->head, l->base, l->there, NULL);
        for (size_t k = 0; k < l->own_bases.n; k++)
            strv_push(&tips, l->own_bases.v[k]);
    }
    if (history_read(&h, &lk->at, &tips, err))
        return -1;
    for (size_t i = 0; i < lk->looks->n; i++) {
        if (!lk->looks->v[i].problem)
            count_commits(&h, &lk->looks->v[i]);
    }
    return 0;
}

/* Judges committed and uncommitted paths, without duplicates. */
static void judge_paths(const struct own_rules *rules, struct thread_look *l)
{
    autostrv struct strv all = {0};
    autobuf struct buf list = BUF_INIT;
    const char *end = l->paths.s + l->paths.len;
    for (const char *path = l->paths.s; path < end; path += strlen(path) + 1)
        strv_push(&all, path);
    for (size_t i = 0; i < l->uncommitted.n; i++)
        strv_push(&all, l->uncommitted.v[i] + 3);
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), str_compare);
    for (size_t i = 0; i < all.n; i++) {
        if (!i || strcmp(all.v[i - 1], all.v[i]) != 0)
            buf_add(&list, all.v[i], strlen(all.v[i]) + 1);
    }
    own_verdict_add(&l->own, rules, l->thread, list.s, list.len);
}

static int find_paths(const struct status_query *lk, struct err *err)
{
    struct own_rules *rules = own_rules_new(lk->threads, lk->repo->core.ignore_case);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < lk->looks->n; i++) {
        struct thread_look *l = &lk->looks->v[i];
        if (l->problem)
            continue;
        const char *from = l->since ? l->since : l->thread->base_commit;
        if (l->ahead)
            rc = tree_diff(lk->batch, from, l->head, &l->paths, err);
        if (rc == 0)
            judge_paths(rules, l);
    }
    own_rules_free(rules);
    return rc;
}

static int fill_looks(struct status_query *lk, bool merges, struct err *err)
{
    if (thread_changes(lk->looks, lk->repo, lk->batch, err) || find_upstreams(lk, err))
        return -1;
    for (size_t i = 0; i < lk->looks->n; i++) {
        if (find_commits(lk, &lk->looks->v[i], err))
            return -1;
    }
    if (count_all_commits(lk, err) || find_paths(lk, err))
        return -1;
    return merges ? thread_conflicts(lk->looks, &lk->at, err) : 0;
}

int thread_looks_open(struct thread_looks *ls, const struct git_repo *repo, struct git_batch *batch,
                      const struct threads *ts, const char *base, bool merges, struct err *err)
{
    struct status_query lk = {
        .repo = repo,
        .batch = batch,
        .threads = ts,
        .at = {.batch = batch, .git_dir = repo->common, .work_tree = repo->root},
        .base = base,
        .looks = ls};
    *ls = (struct thread_looks){.v = mem_array(ts->n + 1, sizeof(*ls->v)), .n = ts->n};
    for (size_t i = 0; i < ts->n; i++)
        ls->v[i] = (struct thread_look){.thread = &ts->v[i], .paths = BUF_INIT};
    int rc = fill_looks(&lk, merges, err);
    strv_done(&lk.upstreams);
    known_done(&lk.cached_base);
    known_done(&lk.cached_commit);
    known_done(&lk.cached_upstream);
    return rc;
}
