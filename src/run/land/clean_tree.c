#include "run/land/clean_tree.h"

#include "agent/engine/env.h"
#include "base/mem.h"
#include "base/text/hash.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/prepare/delete_later.h"
#include "run/process/process.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/fs/beneath.h"
#include "sys/fs/file.h"
#include "sys/fs/known_folder.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of the run, with a line for each clean tree (sys/fs/known_folder.h). */
#define CLEAN_TREES "+clean-trees"

enum { INDEX_MAX = 1 << 30 };

/* The folder for clean trees, outside the project. */
static const char *get_temp_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp == '/' ? tmp : "/tmp";
}

/* Opens a folder that we have just made. Somebody may have put another one in its place: that is
 * not empty, or we see nothing of it. */
static int open_new_folder(int at, const char *name, const char *shown, int *ret_fd,
                           struct err *err)
{
    autoclose int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "open '%s'", shown);
    if (!beneath_is_empty(fd))
        return err_set(err, ERR_ENV, "'%s' is not the folder that we made", shown);
    *ret_fd = steal_fd(&fd);
    return 0;
}

/* Records the folder where agents cannot reach it: a resume removes it. */
static int note_folder(const struct attempt *attempt, struct err *err)
{
    const struct clean_tree *t = attempt->landing.clean_tree;
    autofree char *path = mem_printf("%s/" CLEAN_TREES, attempt->run->files.dir);
    autofree char *folder = known_folder(t->path, &t->id);
    autofree char *line = mem_printf("%s\n", folder);
    autoclose int fd = -1;
    if (file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &fd, err))
        return -1;
    return write(fd, line, strlen(line)) == (ssize_t)strlen(line)
               ? 0
               : err_sys(err, "write '%s'", path);
}

static int make_top(struct attempt *attempt, struct err *err)
{
    struct clean_tree *t = attempt->landing.clean_tree = mem_alloc(sizeof(*t));
    t->top = t->tree = -1;
    t->path = mem_printf("%s/anabranch-%s-%s.XXXXXX", get_temp_folder(), attempt->run->id,
                         task_of(attempt)->id);
    if (!mkdtemp(t->path))
        return err_sys(err, "make '%s'", t->path);
    return open_new_folder(AT_FDCWD, t->path, t->path, &t->top, err) ||
                   (file_id_of(t->top, &t->id) < 0 && err_sys(err, "look at '%s'", t->path)) ||
                   note_folder(attempt, err)
               ? -1
               : 0;
}

static int make_folder(int at, const char *name, struct err *err)
{
    return mkdirat(at, name, 0777) < 0 ? err_sys(err, "make '%s'", name) : 0;
}

static int write_text(int tree, const char *name, const char *text, size_t len, struct err *err)
{
    autoclose int fd = beneath_open(tree, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    for (size_t done = 0; fd >= 0 && done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        if (n < 0 && errno != EINTR)
            return err_sys(err, "write '%s'", name);
        done += n > 0 ? (size_t)n : 0;
    }
    return fd < 0 ? err_sys(err, "make '%s'", name) : 0;
}

/* Makes a minimal repository: git finds the commit and its history in it. */
static int make_repository(const struct attempt *attempt, struct err *err)
{
    static const char *const folders[] = {".git", ".git/refs", ".git/objects", ".git/objects/info"};
    static const char sha1[] = "[core]\n\trepositoryFormatVersion = 0\n",
                      sha256[] = "[core]\n\trepositoryFormatVersion = 1\n"
                                 "[extensions]\n\tobjectFormat = sha256\n";
    const char *config = attempt->landing.commit.len == HASH_SHA256_DIGITS ? sha256 : sha1;
    autofree char *head = mem_printf("%s\n", attempt->landing.commit.s);
    autofree char *objects = mem_printf("%s/objects\n", attempt->run->pf->repo.common);
    int tree = attempt->landing.clean_tree->tree;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        const char *name;
        autoclose int parent = beneath_parent(tree, folders[i], &name);
        if (parent < 0 || make_folder(parent, name, err))
            return parent < 0 ? err_sys(err, "open '%s'", folders[i]) : -1;
    }
    return write_text(tree, ".git/HEAD", head, strlen(head), err) ||
                   write_text(tree, ".git/objects/info/alternates", objects, strlen(objects),
                              err) ||
                   write_text(tree, ".git/config", config, strlen(config), err)
               ? -1
               : 0;
}

/* Uses the project's settings and filters, but fills the whole tree. The index is in the attempt's
 * folder: git would write to it by its path. */
static int start_fill(struct attempt *attempt, void (*next)(struct attempt *, int), struct err *err)
{
    autofree char *tree = mem_printf("%s/tree", attempt->landing.clean_tree->path);
    autofree char *index = attempt_file(attempt, "clean.index");
    autofree char *log = attempt_file(attempt, "prepare.log");
    struct git_place at = {.git_dir = attempt->run->pf->repo.common,
                           .work_tree = tree,
                           .tree = &attempt->landing.clean_tree->tree,
                           .index = index};
    autostrv struct strv argv = {0}, env = {0};
    (void)unlink(index);
    git_prepare(&at, &argv, &env);
    strv_pushl(&argv, "-c", "core.sparseCheckout=false", "read-tree", "--reset", "-u",
               attempt->landing.commit.s, NULL);
    return process_start(attempt, argv.v, env.v, tree, log, next, err);
}

int clean_tree_make(struct attempt *attempt, void (*next)(struct attempt *, int), struct err *err)
{
    if (make_top(attempt, err))
        return -1;
    struct clean_tree *t = attempt->landing.clean_tree;
    return make_folder(t->top, "home", err) || make_folder(t->top, "tmp", err) ||
                   make_folder(t->top, "tree", err) ||
                   open_new_folder(t->top, "tree", t->path, &t->tree, err) ||
                   make_repository(attempt, err) || start_fill(attempt, next, err)
               ? -1
               : 0;
}

int clean_tree_finish(struct attempt *attempt, struct err *err)
{
    autofree char *index = attempt_file(attempt, "clean.index");
    autobuf struct buf bytes = BUF_INIT;
    int rc =
        file_read(index, INDEX_MAX, &bytes, err) ||
                write_text(attempt->landing.clean_tree->tree, ".git/index", bytes.s, bytes.len, err)
            ? -1
            : 0;
    (void)unlink(index);
    return rc;
}

int clean_tree_open(const struct attempt *attempt, const char *dir, int *ret_fd, struct err *err)
{
    size_t top = strlen(attempt->landing.clean_tree->path) + strlen("/tree");
    *ret_fd = beneath_at(attempt->landing.clean_tree->tree, dir[top] ? dir + top + 1 : "");
    return *ret_fd < 0 ? err_sys(err, "open '%s'", dir) : 0;
}

void clean_tree_check(struct attempt *attempt)
{
    const struct clean_tree *t = attempt->landing.clean_tree;
    struct file_id tree;
    if (!t || (file_id_is_at(&t->id, AT_FDCWD, t->path) && file_id_of(t->tree, &tree) == 0 &&
               file_id_is_at(&tree, t->top, "tree")))
        return;
    free(attempt->dir_error);
    attempt->dir_error = mem_printf("'%s/tree' is not the folder that we made", t->path);
}

char *clean_tree_cwd(const struct attempt *attempt)
{
    const char *prefix = attempt->run->pf->repo.prefix;
    return mem_printf("%s/tree%s%s", attempt->landing.clean_tree->path, *prefix ? "/" : "", prefix);
}

void clean_tree_environment(const struct attempt *attempt, struct strv *env)
{
    static const char *const variables[] = {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
                                            "XDG_STATE_HOME"};
    static const char *const below[] = {".config", ".cache", ".local/share", ".local/state"};
    autofree char *cwd = clean_tree_cwd(attempt);
    env_set(env, "HOME", "%s/home", attempt->landing.clean_tree->path);
    env_set(env, "TMPDIR", "%s/tmp", attempt->landing.clean_tree->path);
    env_set(env, "ANABRANCH_WORKSPACE", "%s", cwd);
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        env_set(env, variables[i], "%s/home/%s", attempt->landing.clean_tree->path, below[i]);
}

static int remove_folder(const struct attempt *attempt, const struct clean_tree *t, struct err *err)
{
    autofree char *folder = known_folder(t->path, &t->id);
    autostrv struct strv folders = {0};
    strv_push(&folders, folder);
    return delete_later_is_worth_it(attempt)
               ? delete_later(attempt->run, attempt->task, &folders, err)
               : known_folder_remove(folder, err);
}

void clean_tree_remove(struct attempt *attempt)
{
    struct clean_tree *t = steal_ptr(attempt->landing.clean_tree);
    struct err err = {0};
    if (!t)
        return;
    if (t->top >= 0 && remove_folder(attempt, t, &err))
        record_error(attempt->run, attempt->task, &err);
    own_close(&t->top);
    own_close(&t->tree);
    free(t->path);
    free(t);
}

void clean_tree_tidy(struct run *run)
{
    enum { NOTES_MAX = 16 << 20 };
    autofree char *path = mem_printf("%s/" CLEAN_TREES, run->files.dir);
    autobuf struct buf notes = BUF_INIT;
    if (file_read_own(path, NOTES_MAX, &notes, NULL))
        return;
    for (char *next = notes.s, *folder; (folder = strsep(&next, "\n"));) {
        struct err err = {0};
        if (*folder && known_folder_is_there(folder) && known_folder_remove(folder, &err))
            record_error(run, -1, &err);
    }
    (void)unlink(path);
}
