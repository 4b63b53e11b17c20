#include "git/merge/history.h"

#include "base/mem.h"

#include <string.h>

enum { MARK_A = 1, MARK_B = 2, MARK_OLDER = 4, MARK_BOTH = MARK_A | MARK_B };

void history_done(struct history *h)
{
    for (size_t i = 0; i < h->commits.n; i++)
        free(h->commits.v[i].id);
    vec_done(&h->commits);
    vec_done(&h->parents);
    vec_done(&h->to_visit);
    map_done(&h->by_id);
}

static void *encode_index(size_t index)
{
    return (void *)(uintptr_t)(index + 1); // NOLINT(performance-no-int-to-ptr)
}

static uint32_t find_commit(const struct history *h, const char *id, size_t len)
{
    return (uint32_t)(uintptr_t)map_get(&h->by_id, id, len);
}

static void add_commit(struct history *h, const char *id, size_t len)
{
    vec_push(&h->commits, (struct history_commit){.id = mem_dup(id, len)});
    const struct history_commit *c = &h->commits.v[h->commits.n - 1];
    (void)map_put(&h->by_id, c->id, len, encode_index(h->commits.n - 1));
}

/* All tips have a parent that is not listed. */
static void parse_parents(struct history *h, const char *line)
{
    size_t len = strcspn(line, " \n");
    uint32_t index = find_commit(h, line, len) - 1;
    struct history_commit *c = &h->commits.v[index];
    c->first = (uint32_t)h->parents.n;
    for (line += len; *line == ' '; line += len) {
        len = strcspn(++line, " \n");
        uint32_t parent = find_commit(h, line, len);
        if (parent)
            vec_push(&h->parents, parent - 1);
    }
    c->n = (uint32_t)h->parents.n - c->first;
}

static void parse_list(struct history *h, const struct buf *list)
{
    for (const char *line = list->s; *line; line += strspn(line, "\n")) {
        add_commit(h, line, strcspn(line, " \n"));
        line += strcspn(line, "\n");
    }
    for (const char *line = list->s; *line; line += strspn(line, "\n")) {
        parse_parents(h, line);
        line += strcspn(line, "\n");
    }
}

static int call_git(const struct git_place *at, const struct strv *tips, const char *const *command,
                    const char *without, struct buf *out, int *ret_status, struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf errout = BUF_INIT;
    for (; *command; command++)
        strv_push(&args, *command);
    for (size_t i = 0; i < tips->n; i++)
        strv_push(&args, tips->v[i]);
    if (*without)
        strv_pushf(&args, "^%s", without);
    if (git_try(at, &args, out, &errout, ret_status, err))
        return -1;
    return *ret_status > 1 ? err_set(err, ERR_ENV, "git %s: %.*s", args.v[0],
                                     (int)strcspn(errout.s, "\n"), errout.s)
                           : 0;
}

/* Skips the commits that all tips have, except the newest one: all tips descend from it. */
int history_read(struct history *h, const struct git_place *at, const struct strv *tips,
                 struct err *err)
{
    static const char *const common[] = {"merge-base", "--octopus", NULL};
    static const char *const list[] = {"rev-list", "--parents", NULL};
    autobuf struct buf base = BUF_INIT, commits = BUF_INIT;
    int status;
    *h = (struct history){0};
    if (!tips->n)
        return 0;
    if (call_git(at, tips, common, "", &base, &status, err))
        return -1;
    buf_cut(&base, strcspn(base.s, "\n"));
    if (base.len)
        add_commit(h, base.s, base.len);
    if (call_git(at, tips, list, base.s, &commits, &status, err))
        return -1;
    parse_list(h, &commits);
    return 0;
}

static void clear_marks(struct history *h)
{
    for (size_t i = 0; i < h->commits.n; i++)
        h->commits.v[i].marks = 0;
}

static void mark_commit(struct history *h, uint32_t index, uint32_t mark)
{
    if (h->commits.v[index].marks & mark)
        return;
    h->commits.v[index].marks |= mark;
    vec_push(&h->to_visit, index);
}

/* Marks a tip and all its ancestors. */
static void mark_ancestors(struct history *h, const char *tip, uint32_t mark)
{
    uint32_t index = find_commit(h, tip, strlen(tip));
    h->to_visit.n = 0;
    if (index)
        mark_commit(h, index - 1, mark);
    while (h->to_visit.n) {
        const struct history_commit *c = &h->commits.v[h->to_visit.v[--h->to_visit.n]];
        for (uint32_t i = 0; i < c->n; i++)
            mark_commit(h, h->parents.v[c->first + i], mark);
    }
}

void history_count(struct history *h, const char *tip, const char *of, size_t *ret_ahead,
                   size_t *ret_behind)
{
    *ret_ahead = *ret_behind = 0;
    clear_marks(h);
    mark_ancestors(h, tip, MARK_A);
    mark_ancestors(h, of, MARK_B);
    for (size_t i = 0; i < h->commits.n; i++) {
        *ret_ahead += h->commits.v[i].marks == MARK_A;
        *ret_behind += h->commits.v[i].marks == MARK_B;
    }
}

/* Marks the parents of every commit that both sides have. */
static void mark_older(struct history *h)
{
    for (size_t i = 0; i < h->commits.n; i++) {
        const struct history_commit *c = &h->commits.v[i];
        for (uint32_t k = 0; (c->marks & MARK_BOTH) == MARK_BOTH && k < c->n; k++)
            h->commits.v[h->parents.v[c->first + k]].marks |= MARK_OLDER;
    }
}

const char *history_fork(struct history *h, const char *tip, const char *const *others, size_t n)
{
    const char *found = NULL;
    clear_marks(h);
    mark_ancestors(h, tip, MARK_A);
    for (size_t i = 0; i < n; i++)
        mark_ancestors(h, others[i], MARK_B);
    mark_older(h);
    for (size_t i = 0; i < h->commits.n; i++) {
        if (h->commits.v[i].marks != MARK_BOTH)
            continue;
        if (found)
            return NULL;
        found = h->commits.v[i].id;
    }
    return found;
}
