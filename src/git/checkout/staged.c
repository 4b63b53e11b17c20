#include "git/checkout/staged.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/own.h"
#include "git/batch.h"
#include "git/format/index.h"
#include "git/format/tree.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_MAX = 4096 };

void staged_change_done(struct staged_change *change)
{
    strv_done(&change->staged);
    strv_done(&change->unstaged);
    strv_done(&change->unseen);
}

void staged_close(struct staged *s)
{
    strv_done(&s->lines);
    strv_done(&s->unseen);
    buf_done(&s->first);
    *s = (struct staged){.first = BUF_INIT};
}

/* The current index. */
struct index_state {
    struct stat index;
    struct buf root; /* its tree; empty: unknown */
    struct strv unseen, lines;
    struct map ids; /* current ids of the paths that were staged, by path */
    struct arena arena;
};

static void index_state_done(struct index_state *c)
{
    buf_done(&c->root);
    strv_done(&c->unseen);
    strv_done(&c->lines);
    map_done(&c->ids);
    arena_done(&c->arena);
}

/* We need the current id of each path that was staged before. */
static void note_entry(const struct git_index_entry *e, size_t id_len, struct index_state *c)
{
    const char *slot = map_get(&c->ids, e->path, strlen(e->path));
    autobuf struct buf id = BUF_INIT;
    if (e->unseen)
        strv_push(&c->unseen, e->path);
    if (!slot)
        return;
    tree_id(&id, e->id, id_len);
    (void)map_put(&c->ids, arena_str(&c->arena, e->path), strlen(e->path),
                  arena_str(&c->arena, id.s));
}

static int read_index(const struct staged *s, struct index_state *c, struct err *err)
{
    autofree char *path = git_index_path(s->repo->git_dir);
    autogitindex struct git_index x;
    c->index = git_index_stat(path);
    for (size_t i = 1; i < s->lines.n; i += 2) {
        char *key = arena_str(&c->arena, s->lines.v[i]);
        (void)map_put(&c->ids, key, strlen(key), (char *)"");
    }
    if (git_index_open(&x, path, s->id_len, err))
        return -1;
    for (struct git_index_entry e; git_index_next(&x, &e);)
        note_entry(&e, s->id_len / 2, c);
    if (!x.good)
        return err_set(err, ERR_INPUT, "'%s' is an index of an unknown kind", path);
    const unsigned char *root = git_index_root(&x);
    if (root)
        tree_id(&c->root, root, s->id_len / 2);
    return 0;
}

/* Appends "refs/heads/main" or a commit, from the HEAD of this work tree; nothing if it cannot be
 * read. */
static void read_head(const struct staged *s, struct buf *out)
{
    static const char ref[] = "ref: ";
    autofree char *path = mem_printf("%s/HEAD", s->repo->git_dir);
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[HEAD_MAX];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    const char *name = strncmp(text, ref, strlen(ref)) == 0 ? text + strlen(ref) : text;
    buf_add(out, name, strcspn(name, "\n"));
}

static int is_clean(const struct staged *s, const struct index_state *c, bool *ret_yes,
                    struct err *err)
{
    autobuf struct buf head = BUF_INIT, tree = BUF_INIT;
    bool found = false;
    *ret_yes = false;
    read_head(s, &head);
    if (!c->root.len || !head.len)
        return 0;
    buf_addstr(&head, "^{tree}");
    if (git_batch_resolve(s->batch, head.s, &tree, &found, err))
        return -1;
    *ret_yes = found && strcmp(tree.s, c->root.s) == 0;
    return 0;
}

/* Parses ":MODE MODE ID ID STATUS" and the path. A NUL follows each. */
static int read_lines(const struct staged *s, struct index_state *c, struct err *err)
{
    struct git_place at = {.git_dir = s->repo->git_dir, .common = s->repo->common};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    autostrv struct strv args = {0};
    bool no_changes;
    int status;
    if (is_clean(s, c, &no_changes, err) || no_changes)
        return no_changes ? 0 : -1;
    strv_pushl(&args, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
               "--ignore-submodules=none", "HEAD", "--", NULL);
    if (git_try(&at, &args, &out, &errout, &status, err))
        return -1;
    if (status) /* a branch without a commit: everything is staged, and there is nothing to compare
                 * with */
        return 0;
    for (const char *p = out.s; p < out.s + out.len; p += strlen(p) + 1)
        strv_push(&c->lines, *p == ':' ? p + 1 : p);
    return 0;
}

static void map_lines(const struct strv *lines, struct map *ret)
{
    for (size_t i = 0; i + 1 < lines->n; i += 2)
        (void)map_put(ret, lines->v[i + 1], strlen(lines->v[i + 1]), lines->v[i]);
}

/* The fourth word of a line: the id of the staged content. */
static const char *get_staged_id(const char *line)
{
    for (int i = 0; i < 3; i++)
        line += strcspn(line, " ") + 1;
    return line;
}

static void compare_lines(const struct strv *was, const struct index_state *c,
                          struct staged_change *ret)
{
    automap struct map before = {0}, now = {0};
    map_lines(was, &before);
    map_lines(&c->lines, &now);
    for (size_t i = 0; i + 1 < c->lines.n; i += 2) {
        const char *path = c->lines.v[i + 1], *line = map_get(&before, path, strlen(path));
        if (!line)
            strv_push(&ret->staged, path);
        else if (strcmp(get_staged_id(line), get_staged_id(c->lines.v[i])) != 0)
            strv_push(&ret->unstaged, path);
    }
    for (size_t i = 0; i + 1 < was->n; i += 2) {
        const char *path = was->v[i + 1], *id = map_get(&c->ids, path, strlen(path));
        bool committed = id && *id && strncmp(get_staged_id(was->v[i]), id, strlen(id)) == 0;
        if (!map_get(&now, path, strlen(path)) && !committed)
            strv_push(&ret->unstaged, path);
    }
}

/* Both lists are sorted. */
static void compare_unseen(const struct strv *was, const struct strv *is, struct strv *ret)
{
    for (size_t i = 0, k = 0; k < is->n; k++) {
        while (i < was->n && strcmp(was->v[i], is->v[k]) < 0)
            i++;
        if (i == was->n || strcmp(was->v[i], is->v[k]) != 0)
            strv_push(ret, is->v[k]);
    }
}

static void replace_snapshot(struct staged *s, struct index_state *c)
{
    strv_done(&s->lines);
    strv_done(&s->unseen);
    s->lines = c->lines;
    s->unseen = c->unseen;
    s->index = c->index;
    c->lines = c->unseen = (struct strv){0};
}

static int check_index(struct staged *s, struct staged_change *ret, struct err *err)
{
    own_cleanup(index_state_done) struct index_state c = {.root = BUF_INIT};
    if (read_index(s, &c, err) || read_lines(s, &c, err))
        return -1;
    if (ret) {
        compare_lines(&s->lines, &c, ret);
        compare_unseen(&s->unseen, &c.unseen, &ret->unseen);
    }
    replace_snapshot(s, &c);
    return 0;
}

int staged_open(struct staged *s, const struct git_repo *repo, struct git_batch *batch,
                size_t id_len, struct err *err)
{
    *s = (struct staged){.repo = repo, .batch = batch, .id_len = id_len, .first = BUF_INIT};
    if (check_index(s, NULL, err))
        return -1;
    autofree char *path = git_index_path(s->repo->git_dir);
    bool keep = s->lines.n && s->index.st_size <= STAGED_INDEX_MAX;
    return keep ? file_read(path, STAGED_INDEX_MAX, &s->first, err) : 0;
}

int staged_look(struct staged *s, struct staged_change *ret, struct err *err)
{
    autofree char *path = git_index_path(s->repo->git_dir);
    struct stat now = git_index_stat(path);
    return git_index_is_same(&s->index, &now) ? 0 : check_index(s, ret, err);
}
