#include "workspace/commit/own_history.h"

#include "base/map.h"
#include "base/mem.h"
#include "git/batch.h"
#include "git/format/tree.h"

#include <stdlib.h>
#include <string.h>

void own_history_done(struct own_history *h)
{
    strv_done(&h->commits);
    strv_done(&h->parents);
    strv_done(&h->bases);
    buf_done(&h->fork);
}

/* Reads lines "ID PARENT...", parents first. */
static void read_lines(struct own_history *h, char *text)
{
    for (char *line; (line = strsep(&text, "\n"));) {
        const char *id = strsep(&line, " ");
        if (!*id)
            continue;
        strv_push(&h->commits, id);
        strv_push(&h->parents, line ? line : "");
    }
}

static int list_commits(const struct git_place *at, const char *start, const char *tip,
                        const char *head, struct own_history *h, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    autofree char *not_start = mem_printf("^%s", start);
    autofree char *not_tip = mem_printf("^%s", tip ? tip : start);
    if (git_call(at, &out, err, "rev-list", "--topo-order", "--reverse", "--parents", head,
                 not_start, not_tip, "--", NULL))
        return -1;
    read_lines(h, out.s);
    return 0;
}

/* Finds parents that the agent did not make, each once. */
static void find_edges(const struct own_history *h, struct strv *ret)
{
    automap struct map own = {0};
    for (size_t i = 0; i < h->commits.n; i++)
        (void)map_put(&own, h->commits.v[i], strlen(h->commits.v[i]), h->commits.v[i]);
    for (size_t i = 0; i < h->parents.n; i++) {
        const char *p = h->parents.v[i];
        for (size_t len; (len = strcspn(p, " ")); p += len + (p[len] == ' ')) {
            if (!map_put(&own, p, len, h->parents.v[i]))
                strv_pushf(ret, "%.*s", (int)len, p);
        }
    }
}

/* Keeps the edges that are not in the history of another one. */
static int find_bases(const struct git_place *at, const struct strv *edges, struct strv *ret,
                      struct err *err)
{
    autostrv struct strv args = {0};
    autobuf struct buf out = BUF_INIT;
    if (edges->n == 1) {
        strv_push(ret, edges->v[0]);
        return 0;
    }
    strv_pushl(&args, "merge-base", "--independent", NULL);
    for (size_t i = 0; i < edges->n; i++)
        strv_push(&args, edges->v[i]);
    if (git_ask(at, &args, NULL, &out, err))
        return -1;
    for (char *next = out.s, *id; (id = strsep(&next, "\n"));) {
        if (*id)
            strv_push(ret, id);
    }
    return 0;
}

static int builds_on(const struct git_place *at, const char *start, const struct strv *bases,
                     bool *ret_yes, struct err *err)
{
    *ret_yes = false;
    for (size_t i = 0; i < bases->n && !*ret_yes; i++) {
        if (git_is_ancestor(at, start, bases->v[i], ret_yes, err))
            return -1;
    }
    return 0;
}

static int ignore_commits(const struct git_place *at, const char *start, const char *head,
                          struct own_history *h, struct err *err)
{
    own_history_done(h);
    *h = (struct own_history)OWN_HISTORY_INIT;
    strv_push(&h->bases, start);
    return git_find_fork(at, start, head, &h->fork, err);
}

int own_history_read(const struct git_place *at, const char *start, const char *tip,
                     const char *head, struct own_history *ret, struct err *err)
{
    autostrv struct strv edges = {0};
    bool builds = false;
    if (strcmp(head, start) == 0) {
        strv_push(&ret->bases, start);
        return 0;
    }
    if (list_commits(at, start, tip, head, ret, err))
        return -1;
    if (ret->commits.n)
        find_edges(ret, &edges);
    else
        strv_push(&edges, head); /* head is a commit that others made */
    if (!edges.n) /* the agent made a new root, for example by amending the first commit */
        return ignore_commits(at, start, head, ret, err);
    if (find_bases(at, &edges, &ret->bases, err) || builds_on(at, start, &ret->bases, &builds, err))
        return -1;
    return builds ? 0 : ignore_commits(at, start, head, ret, err);
}

struct merge_changes {
    struct map seen; /* number of parents from which a path differs: pointers to struct seen */
    struct strv paths;
    size_t parents;
    tree_diff_found *found;
    void *ctx;
};

struct seen {
    size_t n;
};

static int count_path(void *ctx, const char *path, const struct tree_entry *from,
                      const struct tree_entry *to, struct err *err)
{
    struct merge_changes *m = ctx;
    struct seen *seen = map_get(&m->seen, path, strlen(path));
    if ((from ? from : to)->is_tree)
        return 0;
    if (!seen) {
        seen = mem_alloc(sizeof(*seen));
        *seen = (struct seen){0};
        strv_push(&m->paths, path);
        const char *key = m->paths.v[m->paths.n - 1];
        (void)map_put(&m->seen, key, strlen(key), seen);
    }
    return ++seen->n == m->parents ? m->found(m->ctx, path, from, to, err) : 0;
}

static void merge_changes_done(struct merge_changes *m)
{
    for (size_t i = 0; i < m->paths.n; i++)
        free(map_get(&m->seen, m->paths.v[i], strlen(m->paths.v[i])));
    map_done(&m->seen);
    strv_done(&m->paths);
}

int own_history_changes(const struct git_place *at, const struct own_history *h, size_t commit,
                        tree_diff_found *found, void *ctx, bool *ret_known, struct err *err)
{
    own_cleanup(merge_changes_done) struct merge_changes m = {.found = found, .ctx = ctx};
    autostrv struct strv parents = {0};
    const char *p = h->parents.v[commit];
    for (size_t len; (len = strcspn(p, " ")); p += len + (p[len] == ' '))
        strv_pushf(&parents, "%.*s", (int)len, p);
    *ret_known = parents.n > 0;
    m.parents = parents.n;
    for (size_t i = 0; i < parents.n; i++) {
        if (tree_diff_each(at->batch, parents.v[i], h->commits.v[commit],
                           parents.n == 1 ? found : count_path, parents.n == 1 ? ctx : (void *)&m,
                           err))
            return -1;
    }
    return 0;
}

static bool is_number(const char *s, size_t len, size_t max)
{
    return len > 0 && len <= max && strspn(s, "0123456789") >= len;
}

/* True if the text has git's form "NAME <EMAIL> SECONDS ZONE". */
static bool is_ident(const char *s, size_t len)
{
    enum { SECONDS_MAX = 11, ZONE = 4 };
    const char *open = memchr(s, '<', len), *end = s + len;
    const char *close = open ? memchr(open, '>', (size_t)(end - open)) : NULL;
    if (!close || open < s + 2 || open[-1] != ' ' || memchr(s, '>', (size_t)(open - s)) ||
        memchr(open + 1, '<', (size_t)(close - open - 1)) || end - close < 3 || close[1] != ' ')
        return false;
    const char *seconds = close + 2, *blank = memchr(seconds, ' ', (size_t)(end - seconds));
    return blank && is_number(seconds, (size_t)(blank - seconds), SECONDS_MAX) &&
           end - blank == ZONE + 2 && (blank[1] == '+' || blank[1] == '-') &&
           is_number(blank + 2, ZONE, ZONE);
}

/* The value of a header; NULL if the commit does not have it. */
static const char *find_header(const struct buf *text, const char *name, size_t *ret_len)
{
    size_t len = strlen(name);
    for (const char *line = text->s; *line && *line != '\n';) {
        size_t n = strcspn(line, "\n");
        if (n > len && strncmp(line, name, len) == 0 && line[len] == ' ') {
            *ret_len = n - len - 1;
            return line + len + 1;
        }
        line += n + (line[n] == '\n');
    }
    return NULL;
}

static void add_parents(const struct own_history *h, size_t i, const struct map *made,
                        struct buf *out)
{
    const char *p = h->parents.v[i];
    for (size_t len; (len = strcspn(p, " ")); p += len + (p[len] == ' ')) {
        const char *again = map_get(made, p, len);
        buf_addf(out, "parent %.*s\n", again ? (int)strlen(again) : (int)len, again ? again : p);
    }
}

static void add_author(const struct buf *text, struct buf *out)
{
    size_t len;
    const char *author = find_header(text, "author", &len);
    if (author && is_ident(author, len))
        buf_add(out, author, len);
}

int own_history_author(const struct git_place *at, const char *commit, struct buf *ret,
                       struct err *err)
{
    autobuf struct buf text = BUF_INIT;
    if (git_batch_read(at->batch, commit, &text, err))
        return -1;
    add_author(&text, ret);
    return 0;
}

static int add_people(const struct git_place *at, const struct buf *text, bool keep_author,
                      struct buf *out, struct err *err)
{
    autobuf struct buf author = BUF_INIT;
    if (keep_author)
        add_author(text, &author);
    if (!author.len && git_batch_ident(at->batch, GIT_BATCH_AUTHOR, &author, err))
        return -1;
    buf_addf(out, "author %s", author.s);
    buf_addstr(out, "\ncommitter ");
    return git_batch_ident(at->batch, GIT_BATCH_COMMITTER, out, err);
}

/* Copies the encoding header, which tells readers how to decode the message. */
static void add_encoding(const struct buf *text, struct buf *out)
{
    enum { NAME_MAX_ = 40 };
    size_t len;
    const char *name = find_header(text, "encoding", &len);
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
    if (name && len && len <= NAME_MAX_ && strspn(name, letters) >= len)
        buf_addf(out, "encoding %.*s\n", (int)len, name);
}

static int write_commit(const struct git_place *at, const struct own_history *h, size_t i,
                        bool keep_author, const struct map *made, struct buf *ret_id,
                        struct err *err)
{
    autobuf struct buf text = BUF_INIT, out = BUF_INIT;
    size_t len;
    if (git_batch_read(at->batch, h->commits.v[i], &text, err))
        return -1;
    const char *tree = find_header(&text, "tree", &len);
    const char *message = strstr(text.s, "\n\n");
    if (!tree || !message)
        return err_set(err, ERR_ENV, "cannot read commit '%s'", h->commits.v[i]);
    buf_addf(&out, "tree %.*s\n", (int)len, tree);
    add_parents(h, i, made, &out);
    if (add_people(at, &text, keep_author, &out, err))
        return -1;
    buf_addch(&out, '\n');
    add_encoding(&text, &out);
    buf_addf(&out, "%s", message + 1); /* up to a NUL, where git ends the message too */
    return git_batch_write(at->batch, GIT_BATCH_COMMIT, &out, ret_id, err);
}

int own_history_write(const struct git_place *at, const struct own_history *h, bool keep_authors,
                      struct buf *ret_head, struct err *err)
{
    automap struct map made = {0};
    autostrv struct strv ids = {0};
    for (size_t i = 0; i < h->commits.n; i++) {
        autobuf struct buf id = BUF_INIT;
        if (write_commit(at, h, i, keep_authors, &made, &id, err))
            return -1;
        strv_push(&ids, id.s);
        (void)map_put(&made, h->commits.v[i], strlen(h->commits.v[i]), ids.v[i]);
    }
    if (ids.n)
        buf_addstr(ret_head, ids.v[ids.n - 1]);
    return 0;
}
