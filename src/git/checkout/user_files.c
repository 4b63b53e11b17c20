#include "git/checkout/user_files.h"

#include "base/mem.h"
#include "git/format/index.h"
#include "sys/clock.h"
#include "sys/own_fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS_MAX = 200 };

static void free_files(struct user_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(files[i].path);
    free(files);
}

void user_files_close(struct user_files *c)
{
    free_files(c->changed.v, c->changed.n);
    strv_done(&c->written_paths);
    *c = (struct user_files){0};
}

struct scan {
    int root;
    struct strv *ret_written; /* at the first snapshot; or NULL */
    user_file_list changed;
};

static bool is_in_work_tree(const struct git_index_entry *e)
{
    unsigned kind = e->mode & GIT_INDEX_KIND;
    return !e->unmerged && !e->intended && !e->unseen && kind != GIT_INDEX_FOLDER &&
           kind != GIT_INDEX_SUBMODULE;
}

/* True if we write to the file. If another file takes its place, that is a change. */
static bool is_written(const struct user_files *c, const struct scan *p, const char *path,
                       const struct stat *st)
{
    if (!standard_files_have(&c->written, st))
        return false;
    if (p->ret_written)
        strv_push(p->ret_written, path);
    for (size_t i = 0; i < c->written_paths.n; i++) {
        if (strcmp(c->written_paths.v[i], path) == 0)
            return true;
    }
    return false;
}

static void check_entry(const struct user_files *c, struct scan *p, const struct git_index_entry *e)
{
    struct stat st;
    struct user_file file = {.size = -1};
    if (fstatat(p->root, e->path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (is_written(c, p, e->path, &st) || git_index_fits(e, &st))
            return;
        file = (struct user_file){.size = st.st_size, .mtime = st.st_mtim, .mode = st.st_mode};
    }
    file.path = mem_str(e->path);
    vec_push(&p->changed, file);
}

static int scan_files(const struct user_files *c, struct scan *p, struct err *err)
{
    autofree char *index = git_index_path(c->repo->git_dir);
    autoclose int root = open(c->repo->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return err_sys(err, "open '%s'", c->repo->root);
    p->root = root;
    autogitindex struct git_index x;
    if (git_index_open(&x, index, c->id_len, err))
        return -1;
    for (struct git_index_entry e; git_index_next(&x, &e);) {
        if (is_in_work_tree(&e))
            check_entry(c, p, &e);
    }
    return x.good ? 0 : err_set(err, ERR_INPUT, "'%s' is an index of an unknown kind", index);
}

static bool is_same(const struct user_file *a, const struct user_file *b)
{
    return a->size == b->size && a->mode == b->mode && clock_same(&a->mtime, &b->mtime);
}

/* Adds the files whose difference from the index has changed. Both lists are sorted. */
static void add_changed(const struct user_files *c, const struct scan *p, struct strv *out)
{
    size_t i = 0;
    for (size_t k = 0; k < p->changed.n; k++) {
        const struct user_file *is = &p->changed.v[k];
        while (i < c->changed.n && strcmp(c->changed.v[i].path, is->path) < 0)
            i++;
        bool known = i < c->changed.n && strcmp(c->changed.v[i].path, is->path) == 0;
        if (!known || !is_same(&c->changed.v[i], is))
            strv_push(out, is->path);
    }
}

/* While git is working here, files and index may not match. */
static bool is_locked(const struct user_files *c)
{
    autofree char *lock = mem_printf("%s/index.lock", c->repo->git_dir);
    return access(lock, F_OK) == 0;
}

static void replace_snapshot(struct user_files *c, const struct scan *p)
{
    free_files(c->changed.v, c->changed.n);
    c->changed = p->changed;
}

int user_files_open(struct user_files *c, const struct git_repo *repo, size_t id_len,
                    struct err *err)
{
    struct scan p = {.ret_written = &c->written_paths};
    *c = (struct user_files){.repo = repo, .id_len = id_len};
    standard_files_find(&c->written);
    throttle_begin(&c->pace);
    int rc = scan_files(c, &p, err);
    throttle_end(&c->pace);
    replace_snapshot(c, &p);
    return rc;
}

/* Appends the files with changed content. git compares them with the current index, and prints "XY
 * PATH" with a NUL after each. */
static int compare_contents(const struct user_files *c, const struct strv *changed_paths,
                            struct strv *ret_paths, struct err *err)
{
    struct git_place at = {.git_dir = c->repo->git_dir, .work_tree = c->repo->root};
    autobuf struct buf out = BUF_INIT, errout = BUF_INIT;
    autostrv struct strv args = {0};
    int status;
    strv_pushl(&args, "-C", c->repo->root, "--literal-pathspecs", "status", "--porcelain", "-z",
               "--no-renames", "--untracked-files=no", "--ignore-submodules=all", "--", NULL);
    for (size_t i = 0; i < changed_paths->n && i < PATHS_MAX; i++)
        strv_push(&args, changed_paths->v[i]);
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

/* Appends the changed files to `paths`, unless that is NULL; *ret_good is false if git changed the
 * index meanwhile. */
static int compare_files(struct user_files *c, struct scan *p, struct strv *paths, bool *ret_good,
                         struct err *err)
{
    autostrv struct strv changed_paths = {0};
    autofree char *index = git_index_path(c->repo->git_dir);
    struct stat before = git_index_stat(index);
    *ret_good = false;
    if (is_locked(c))
        return 0;
    if (scan_files(c, p, err))
        return -1;
    add_changed(c, p, &changed_paths);
    if (paths && changed_paths.n && compare_contents(c, &changed_paths, paths, err))
        return -1;
    struct stat after = git_index_stat(index);
    *ret_good = git_index_is_same(&before, &after) && (!changed_paths.n || !is_locked(c));
    return 0;
}

int user_files_look(struct user_files *c, struct strv *ret_paths, bool *ret_looked, struct err *err)
{
    struct scan p = {0};
    autostrv struct strv paths = {0};
    throttle_begin(&c->pace);
    int rc = compare_files(c, &p, ret_paths ? &paths : NULL, ret_looked, err);
    throttle_end(&c->pace);
    if (rc || !*ret_looked) {
        free_files(p.changed.v, p.changed.n);
        return rc;
    }
    replace_snapshot(c, &p);
    for (size_t i = 0; i < paths.n; i++)
        strv_push(ret_paths, paths.v[i]);
    return 0;
}
