#include "data/checkout.h"

#include "base/mem.h"
#include "data/git_index.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS_MAX = 200 };

static void free_files(struct checkout_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(files[i].path);
    free(files);
}

void checkout_close(struct checkout *c)
{
    free_files(c->changed.v, c->changed.n);
    *c = (struct checkout){0};
}

/* --- stat data ---------------------------------------------------------------------------- */

struct pass {
    int root;
    VEC(struct checkout_file) changed;
};

/* The index has the low bits only, and no fraction of seconds where git was built that way. */
static bool is_as_in_index(const struct stat *st, const struct git_index_entry *e)
{
    return (uint32_t)st->st_mtim.tv_sec == e->mtime && (uint32_t)st->st_size == e->size &&
           (!e->mtime_ns || (uint32_t)st->st_mtim.tv_nsec == e->mtime_ns) &&
           (uint32_t)st->st_ino == e->ino &&
           (st->st_mode & (S_IFMT | 0100)) == (e->mode & (S_IFMT | 0100));
}

static void take_entry(void *ctx, const struct git_index_entry *e)
{
    struct pass *p = ctx;
    struct stat st;
    struct checkout_file file = {.size = -1};
    if (fstatat(p->root, e->path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (is_as_in_index(&st, e))
            return;
        file = (struct checkout_file){.size = st.st_size, .mtime = st.st_mtim, .mode = st.st_mode};
    }
    file.path = mem_str(e->path);
    vec_push(&p->changed, file);
}

static int go_through(const struct checkout *c, struct pass *p, struct err *err)
{
    autofree char *index = mem_printf("%s/index", c->repo->git_dir);
    autoclose int root = open(c->repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return err_sys(err, "open '%s'", c->repo->root);
    p->root = root;
    return git_index_each(index, c->id_len, take_entry, p, err);
}

static bool is_same(const struct checkout_file *a, const struct checkout_file *b)
{
    return a->size == b->size && a->mode == b->mode && a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

/* The files that differ from the index otherwise than they did. Both lists are sorted. */
static void add_news(const struct checkout *c, const struct pass *p, struct strv *out)
{
    size_t i = 0;
    for (size_t k = 0; k < p->changed.n; k++) {
        const struct checkout_file *is = &p->changed.v[k];
        while (i < c->changed.n && strcmp(c->changed.v[i].path, is->path) < 0)
            i++;
        bool known = i < c->changed.n && strcmp(c->changed.v[i].path, is->path) == 0;
        if (!known || !is_same(&c->changed.v[i], is))
            strv_push(out, is->path);
    }
}

/* --- looking ------------------------------------------------------------------------------ */

static int look(struct checkout *c, struct strv *ret_news, struct err *err)
{
    struct pass p = {0};
    pace_begin(&c->pace);
    if (go_through(c, &p, err)) {
        free_files(p.changed.v, p.changed.n);
        return -1;
    }
    if (ret_news)
        add_news(c, &p, ret_news);
    free_files(c->changed.v, c->changed.n);
    c->changed.v = p.changed.v;
    c->changed.n = p.changed.n;
    c->changed.cap = p.changed.cap;
    pace_end(&c->pace);
    return 0;
}

int checkout_open(struct checkout *c, const struct git_repo *repo, size_t id_len, struct err *err)
{
    *c = (struct checkout){.repo = repo, .id_len = id_len};
    return look(c, NULL, err);
}

/* Which of the files have another content: git compares, with the index as it is now. "XY PATH"
 * with a NUL behind each. */
static int confirm(const struct checkout *c, const struct strv *news, struct strv *ret_paths,
                   struct err *err)
{
    struct git_place at = {.git_dir = c->repo->git_dir, .work_tree = c->repo->root};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    strv_pushl(&args, "-C", c->repo->root, "--literal-pathspecs", "status", "--porcelain", "-z",
               "--no-renames", "--untracked-files=no", "--ignore-submodules=all", "--", NULL);
    for (size_t i = 0; i < news->n && i < PATHS_MAX; i++)
        strv_push(&args, news->v[i]);
    if (git_try(&at, &args, &out, &errout, &status, err))
        return -1;
    if (status != 0)
        return err_set(err, ERR_ENV, "git status: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    for (const char *s = out.s; s < out.s + out.len; s += strlen(s) + 1) {
        if (strlen(s) > 3 && s[1] != ' ')
            strv_push(ret_paths, s + 3);
    }
    return 0;
}

int checkout_look(struct checkout *c, struct strv *ret_paths, struct err *err)
{
    autostrv struct strv news = {0};
    if (look(c, &news, err))
        return -1;
    return news.n ? confirm(c, &news, ret_paths, err) : 0;
}
