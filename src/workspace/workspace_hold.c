#include "workspace/workspace_hold.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/shell_quote.h"
#include "sys/contain/mounts.h"
#include "sys/contain/overlayfs.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/fs/remove.h"
#include "sys/own_dir.h"
#include "sys/proc/boot_id.h"
#include "workspace/folder_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTE_MAX = 256 };

static int fail_replaced(const char *path, struct err *err)
{
    return err_set(err, ERR_ENV, "'%s' is not the folder that we made", path);
}

static int open_folder(const char *path, int *ret_fd, struct file_id *ret_id, struct err *err)
{
    autoclose int parent = -1;
    const char *name;
    if (beneath_folder_of(path, &parent, &name, err))
        return -1;
    autoclose int fd = beneath_at(parent, name);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return fail_replaced(path, err);
    if (fd < 0 || file_id_of(fd, ret_id) < 0)
        return err_sys(err, "open '%s'", path);
    *ret_fd = steal_fd(&fd);
    return 0;
}

void workspace_hold_free(struct workspace_hold *hold)
{
    if (hold)
        own_close(&hold->tree);
    free(hold);
}

void workspace_let_go(struct workspace *ws)
{
    if (ws->hold)
        own_close(&ws->hold->tree);
}

static void hold_folders(struct workspace *ws, int tree, const struct file_id *id,
                         const struct file_id *admin)
{
    struct workspace_hold *hold = mem_alloc(sizeof(*hold));
    *hold = (struct workspace_hold){.tree = tree, .id = *id, .admin = *admin};
    beneath_name(tree, hold->at);
    workspace_hold_free(ws->hold);
    ws->hold = hold;
}

int workspace_hold(struct workspace *ws, struct err *err)
{
    autoclose int tree = -1, admin = -1;
    struct file_id id, admin_id;
    if (open_folder(ws->path, &tree, &id, err) || open_folder(ws->admin, &admin, &admin_id, err))
        return -1;
    hold_folders(ws, steal_fd(&tree), &id, &admin_id);
    return 0;
}

/* Makes missing parent folders; nobody else can own a folder that we have just made. */
static int open_parent(const char *path, int *ret_fd, const char **ret_name, struct err *err)
{
    const char *slash = strrchr(path, '/');
    autofree char *parent = mem_dup(path, (size_t)(slash - path));
    struct err why = {0};
    if (beneath_folder_of(path, ret_fd, ret_name, &why) == 0)
        return 0;
    if (why.errnum != ENOENT)
        return err_set(err, why.code, "%s", why.msg);
    return dirs_make(parent, err) || beneath_folder_of(path, ret_fd, ret_name, err) ? -1 : 0;
}

int workspace_make_tree(struct workspace *ws, struct err *err)
{
    autoclose int parent = -1;
    const char *name;
    struct file_id id, expected = {0};
    if (open_parent(ws->path, &parent, &name, err))
        return -1;
    bool made = mkdirat(parent, name, 0700) == 0;
    if (!made && errno != EEXIST)
        return err_sys(err, "make folder '%s'", ws->path);
    if (!made && folder_record_is_whole(ws->common, ws->path) &&
        folder_record_owner(ws->common, ws->path, parent, &expected) != FOLDER_OURS)
        return fail_replaced(ws->path, err);
    autoclose int tree = beneath_at(parent, name);
    if (tree < 0 && (errno == ENOTDIR || errno == ELOOP))
        return fail_replaced(ws->path, err);
    if (tree < 0 || file_id_of(tree, &id) < 0)
        return err_sys(err, "open '%s'", ws->path);
    if (made ? !beneath_is_empty(tree) /* somebody has exchanged it */
             : expected.ino && (id.dev != expected.dev || id.ino != expected.ino))
        return fail_replaced(ws->path, err);
    if (made)
        folder_record_add(ws->common, ws->path, RECORD_TREE, tree);
    hold_folders(ws, steal_fd(&tree), &id, &(struct file_id){0});
    return 0;
}

int workspace_hold_admin(struct workspace *ws, const char *admin, struct err *err)
{
    struct stat st;
    if (lstat(admin, &st) < 0)
        return err_sys(err, "look at '%s'", admin);
    ws->hold->admin = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
    return 0;
}

const char *workspace_at(const struct workspace *ws)
{
    return ws->hold && ws->hold->tree >= 0 && *ws->hold->at ? ws->hold->at : ws->path;
}

bool workspace_is_there(const struct workspace *ws)
{
    struct stat st;
    if (ws->hold && ws->hold->tree >= 0)
        return fstat(ws->hold->tree, &st) == 0 && st.st_nlink > 0;
    return lstat(ws->path, &st) == 0 && S_ISDIR(st.st_mode);
}

int workspace_open_admin(const struct workspace *ws, int *ret_fd, struct err *err)
{
    autoclose int fd = -1;
    struct file_id id = {0};
    if (open_folder(ws->admin, &fd, &id, err))
        return -1;
    if (ws->hold && (id.dev != ws->hold->admin.dev || id.ino != ws->hold->admin.ino))
        return fail_replaced(ws->admin, err);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int workspace_put(const struct workspace *ws, const char *from, const char *name, struct err *err)
{
    autoclose int admin = -1;
    if (workspace_open_admin(ws, &admin, err))
        return -1;
    return renameat(AT_FDCWD, from, admin, name) < 0 && errno != ENOENT
               ? err_sys(err, "make '%s/%s'", ws->admin, name)
               : 0;
}

int workspace_drop(const struct workspace *ws, const char *name, struct err *err)
{
    autoclose int admin = -1;
    if (workspace_open_admin(ws, &admin, err))
        return -1;
    return unlinkat(admin, name, 0) < 0 && errno != ENOENT
               ? err_sys(err, "remove '%s/%s'", ws->admin, name)
               : 0;
}

void workspace_format_note(const struct workspace *ws, struct buf *out)
{
    const struct file_id *id = &ws->hold->id;
    buf_addf(out, "%" PRIuMAX " %" PRIuMAX " %s", (uintmax_t)id->dev, (uintmax_t)id->ino,
             boot_id());
}

int workspace_note(const struct workspace *ws, struct err *err)
{
    autoclose int admin = -1;
    autobuf struct buf text = BUF_INIT;
    workspace_format_note(ws, &text);
    if (workspace_open_admin(ws, &admin, err))
        return -1;
    autoclose int fd =
        openat(admin, WORKSPACE_NOTE,
               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text.s, text.len) != (ssize_t)text.len)
        return err_sys(err, "write '%s/" WORKSPACE_NOTE "'", ws->admin);
    return 0;
}

static bool read_text(int admin, char text[NOTE_MAX])
{
    struct stat st;
    autoclose int fd =
        openat(admin, WORKSPACE_NOTE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    ssize_t n = read(fd, text, NOTE_MAX - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Device numbers change with a reboot: then the caller uses the device of the folder at the path.
 */
static bool read_note(const struct workspace *ws, struct file_id *ret, bool *ret_other_boot)
{
    autoclose int admin = -1;
    char text[NOTE_MAX], *end;
    if (!ws->admin || workspace_open_admin(ws, &admin, NULL) || !read_text(admin, text))
        return false;
    ret->dev = (dev_t)strtoumax(text, &end, 10);
    ret->ino = (ino_t)strtoumax(end, &end, 10);
    *ret_other_boot = *end != ' ' || strcmp(end + 1, boot_id()) != 0;
    return ret->ino;
}

/* True if the folder that now has the tree's name is one that we made for the task: a copy may have
 * taken the place of the tree (layers_materialise()). */
static bool is_recorded(const struct workspace *ws, struct file_id *ret)
{
    autoclose int folder = -1;
    const char *name;
    return beneath_folder_of(ws->path, &folder, &name, NULL) == 0 &&
           folder_record_owner(ws->common, ws->path, folder, ret) == FOLDER_OURS;
}

/* Finds the identity of our tree; false if it is not known. We believe the record rather than the
 * note, which the agent can change. If the record does not have our tree, no folder has the
 * identity that we return. */
static bool find_id(const struct workspace *ws, struct file_id *ret)
{
    bool other_boot = false;
    struct stat st;
    if (ws->hold) {
        *ret = ws->hold->id;
        return true;
    }
    if (is_recorded(ws, ret) && !overlay_is_at(ws->path))
        return true;
    *ret = (struct file_id){0};
    enum folder_owner owner = folder_record_last(ws->common, ws->path, RECORD_TREE, ret);
    if ((owner == FOLDER_UNKNOWN && !read_note(ws, ret, &other_boot)) || overlay_is_at(ws->path))
        return false; /* the record is about the folder below the mount */
    if (other_boot && lstat(ws->path, &st) == 0)
        ret->dev = st.st_dev;
    return true;
}

static bool is_other(const char *path, const struct file_id *id)
{
    struct stat st;
    return lstat(path, &st) == 0 && (st.st_dev != id->dev || st.st_ino != id->ino);
}

/* Appends the tree's present path for a message, if we can find it. */
static void add_new_place(const struct workspace *ws, struct buf *out)
{
    autobuf struct buf place = BUF_INIT;
    if (ws->hold && ws->hold->tree >= 0 && workspace_is_there(ws) &&
        file_read_link(AT_FDCWD, workspace_at(ws), &place) == 0 && strcmp(place.s, ws->path) != 0)
        buf_addf(out, ", which is now at '%s'", place.s);
}

bool workspace_lost_admin(const struct workspace *ws)
{
    return ws->hold && is_other(ws->admin, &ws->hold->admin);
}

bool workspace_is_replaced(const struct workspace *ws, struct buf *ret_words)
{
    struct file_id id;
    bool tree = find_id(ws, &id) && is_other(ws->path, &id);
    if (!tree && !workspace_lost_admin(ws))
        return false;
    buf_addf(ret_words, "'%s' is not the folder that we made", tree ? ws->path : ws->admin);
    if (tree)
        add_new_place(ws, ret_words);
    return true;
}

bool workspace_has_mount(const struct workspace *ws, struct buf *ret_words)
{
    autofree char *point = mount_below(ws->path);
    autobuf struct buf command = BUF_INIT;
    if (!point)
        return false;
    shell_quote(&command, "umount", point, NULL);
    buf_addf(ret_words, "something is mounted at '%s'; to undo: %s", point, command.s);
    return true;
}

/* Nobody can exchange the folder after this check. */
static int open_tree(const struct workspace *ws, int *ret_fd, struct file_id *ret_id,
                     struct err *err)
{
    autoclose int tree = -1;
    struct file_id expected;
    if (open_folder(ws->path, &tree, ret_id, err))
        return -1;
    if (find_id(ws, &expected) && (ret_id->dev != expected.dev || ret_id->ino != expected.ino))
        return fail_replaced(ws->path, err);
    *ret_fd = steal_fd(&tree);
    return 0;
}

int workspace_enter(struct workspace *ws, struct err *err)
{
    autobuf struct buf words = BUF_INIT;
    autoclose int tree = -1, admin = -1;
    struct file_id id = {0}, admin_id = {0};
    if (workspace_is_replaced(ws, &words))
        return err_set(err, ERR_ENV, "%s", words.s);
    if (ws->hold && ws->hold->tree >= 0)
        return 0;
    if (open_tree(ws, &tree, &id, err) || open_folder(ws->admin, &admin, &admin_id, err))
        return -1;
    hold_folders(ws, steal_fd(&tree), &id, &admin_id);
    return 0;
}

int workspace_remove_link(const struct workspace *ws, struct err *err)
{
    autofree char *shown = mem_printf("%s/.git", ws->path);
    autoclose int tree = -1;
    struct file_id id = {0};
    struct err why = {0};
    if (open_tree(ws, &tree, &id, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    return remove_tree(tree, ".git", shown, err);
}

/* The name that an entry with this identity has in a folder. */
static char *find_name(int folder, const struct file_id *id)
{
    autodir DIR *dir = dir_list(folder);
    for (struct dirent *e; (e = dir_next(dir));) {
        if (file_id_is_at(id, folder, e->d_name))
            return mem_str(e->d_name);
    }
    return NULL;
}

/* Removes a symlink, a FIFO or the like. A file or a folder of that name may belong to somebody, so
 * it stays. */
static int remove_special(int folder, const char *name, struct err *err)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode) ||
        S_ISREG(st.st_mode))
        return 0;
    return unlinkat(folder, name, 0) < 0 && errno != ENOENT ? err_sys(err, "remove '%s'", name) : 0;
}

static bool is_file(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Gives a file another name, too. */
static int make_way(int folder, const char *name, struct err *err)
{
    autofree char *other = folder_new_name(name, FOLDER_OTHER);
    if (remove_special(folder, name, err))
        return -1;
    return is_file(folder, name) && beneath_rename(folder, name, folder, other) < 0 &&
                   errno != ENOENT
               ? err_sys(err, "rename '%s'", name)
               : 0;
}

int workspace_make_way(const char *path, struct err *err)
{
    autoclose int folder = -1;
    const char *name;
    struct err why = {0};
    if (beneath_folder_of(path, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    return make_way(folder, name, err);
}

/* Checks the identity after the rename: nobody can exchange the entry between check and rename
 * then. If `id` is NULL, any folder will do. *ret_id stays as it is if we moved nothing. */
static int move_entry(int folder, const char *name, int to, const char *as,
                      const struct file_id *id, struct file_id *ret_id, struct err *err)
{
    struct stat st;
    if (beneath_rename(folder, name, to, as) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "remove '%s'", name);
    if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) < 0) /* somebody was quicker */
        return errno == ENOENT ? 0 : err_sys(err, "look at '%s'", as);
    if (!id || (st.st_dev == id->dev && st.st_ino == id->ino)) {
        *ret_id = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
        return 0;
    }
    return beneath_rename(to, as, folder, name) < 0 ? err_sys(err, "move '%s' back", as) : 0;
}

/* Another task has our tree: a tree is used again after its task has landed. If we died before that
 * was recorded, our record still names it. */
static bool belongs_to_another(const struct workspace *ws, int folder, const char *name)
{
    const char *slash = strrchr(ws->path, '/');
    autofree char *path = mem_printf("%.*s/%s", (int)(slash - ws->path), ws->path, name);
    struct file_id its;
    return folder_record_owner(ws->common, path, folder, &its) == FOLDER_OURS;
}

static int move_tree(const struct workspace *ws, int folder, const char *name, const char *gone,
                     const struct file_id *id, struct file_id *ret_id, struct err *err)
{
    if (file_id_is_at(id, folder, name) && move_entry(folder, name, folder, gone, id, ret_id, err))
        return -1;
    if (ret_id->ino)
        return 0;
    autofree char *other = find_name(folder, id);
    bool ours = other && !belongs_to_another(ws, folder, other);
    if ((ours && move_entry(folder, other, folder, gone, id, ret_id, err)) ||
        make_way(folder, name, err))
        return -1;
    (void)unlinkat(folder, name, AT_REMOVEDIR); /* we may have died when we had just made it */
    return 0;
}

int workspace_move_tree(const struct workspace *ws, const char *gone, struct file_id *ret_id,
                        struct err *err)
{
    autoclose int folder = -1;
    const char *name, *to = strrchr(gone, '/') + 1;
    struct file_id id;
    struct err why = {0};
    *ret_id = (struct file_id){0};
    if (beneath_folder_of(ws->path, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    if (find_id(ws, &id))
        return move_tree(ws, folder, name, to, &id, ret_id, err);
    return make_way(folder, name, err) || move_entry(folder, name, folder, to, NULL, ret_id, err)
               ? -1
               : 0;
}

/* False if it is not known: then any folder of the name is accepted. */
static bool find_admin_id(const struct workspace *ws, struct file_id *ret)
{
    *ret = (struct file_id){0};
    if (ws->hold && ws->hold->admin.ino) {
        *ret = ws->hold->admin;
        return true;
    }
    return folder_record_last(ws->common, ws->path, RECORD_ADMIN, ret) != FOLDER_UNKNOWN;
}

int workspace_move_admin(const struct workspace *ws, const char *aside, struct file_id *ret_id,
                         struct err *err)
{
    autoclose int folder = -1, to = -1;
    const char *name, *other;
    struct file_id id;
    struct err why = {0};
    *ret_id = (struct file_id){0};
    if (beneath_folder_of(ws->admin, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    if (remove_special(folder, name, err) || beneath_folder_of(aside, &to, &other, err))
        return -1;
    bool known = find_admin_id(ws, &id);
    if (is_file(folder, name))
        return workspace_move_other_admin(ws, err);
    if (known && !file_id_is_at(&id, folder, name))
        return 0;
    return move_entry(folder, name, to, other, known ? &id : NULL, ret_id, err);
}

/* We put it beside the workspace: there it is found and reported, and git does not prune it. */
int workspace_move_other_admin(const struct workspace *ws, struct err *err)
{
    autofree char *beside = folder_new_name(ws->path, FOLDER_OTHER);
    autoclose int folder = -1, to = -1;
    const char *name, *other;
    struct err why = {0};
    struct stat st;
    if (beneath_folder_of(ws->admin, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    if (remove_special(folder, name, err))
        return -1;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (beneath_folder_of(beside, &to, &other, err))
        return -1;
    return beneath_rename(folder, name, to, other) < 0 && errno != ENOENT
               ? err_sys(err, "rename '%s'", ws->admin)
               : 0;
}

int workspace_replace(struct workspace *ws, const char *from, const struct file_id *id,
                      struct err *err)
{
    autoclose int folder = -1, beside = -1, tree = -1;
    const char *name, *other;
    struct file_id found = {0};
    if (beneath_folder_of(ws->path, &folder, &name, err) ||
        beneath_folder_of(from, &beside, &other, err) || open_folder(from, &tree, &found, err))
        return -1;
    if (found.dev != id->dev || found.ino != id->ino)
        return fail_replaced(from, err);
    folder_record_add(ws->common, ws->path, RECORD_TREE, tree);
    if (unlinkat(folder, name, AT_REMOVEDIR) < 0 || beneath_rename(beside, other, folder, name) < 0)
        return err_sys(err, "make '%s'", ws->path);
    struct file_id admin = ws->hold->admin;
    if (workspace_hold(ws, err))
        return -1;
    if (ws->hold->id.dev != id->dev || ws->hold->id.ino != id->ino ||
        ws->hold->admin.dev != admin.dev || ws->hold->admin.ino != admin.ino)
        return fail_replaced(ws->path, err);
    return workspace_note(ws, err);
}
