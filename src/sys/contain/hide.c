#include "sys/contain/hide.h"

#ifdef __linux__
#include "base/mem.h"
#include "base/own.h"
#include "base/text/str.h"
#include "sys/fs/beneath.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

enum { PLAIN = MS_NOSUID | MS_NODEV | MS_NOEXEC };

static int open_entry(int folder, const char *name, int *ret_fd, struct err *err)
{
    *ret_fd = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret_fd < 0 ? err_sys(err, "open '%s'", name) : 0;
}

static int open_below(int folder, const char *path, int *ret_fd, struct err *err)
{
    *ret_fd = beneath_at(folder, path);
    return *ret_fd < 0 ? err_sys(err, "open '%s'", path) : 0;
}

static int make_folders(int top, const char *path, struct err *err)
{
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        autofree char *part = mem_dup(path, (size_t)(end - path));
        if (mkdirat(top, part, 0755) < 0 && errno != EEXIST)
            return err_sys(err, "make '%s'", part);
    }
    return 0;
}

/* Makes a mount read-only. In a user namespace the kernel refuses to drop the other restrictions of
 * the mount, so we keep them. */
static int make_read_only(int mounted, struct err *err)
{
    char name[BENEATH_NAME];
    struct statvfs fs;
    beneath_name(mounted, name);
    if (fstatvfs(mounted, &fs) < 0)
        return err_sys(err, "look at a mount");
    unsigned long flags = fs.f_flag & PLAIN; /* ST_NOSUID and MS_NOSUID are the same bit */
    return mount(NULL, name, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) < 0
               ? err_sys(err, "keep others from writing")
               : 0;
}

/* Mounts one of the hidden folders at its old place. */
static int mount_part(int top, int part, const char *path, bool writable, struct err *err)
{
    autoclose int at = -1, mounted = -1;
    char from[BENEATH_NAME], to[BENEATH_NAME];
    if (make_folders(top, path, err) || open_below(top, path, &at, err))
        return -1;
    beneath_name(part, from);
    beneath_name(at, to);
    if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        return err_sys(err, "show '%s'", path);
    if (writable)
        return 0;
    return open_below(top, path, &mounted, err) || make_read_only(mounted, err) ? -1 : 0;
}

struct part {
    const char *path;
    int fd;
    bool writable;
};

static void part_done(struct part *p)
{
    own_close(&p->fd);
}

static int open_part(const struct hiding *h, int folder, const char *path, struct part *p,
                     struct err *err)
{
    p->path = path ? str_below(path, h->folder) : NULL;
    if (path && !p->path)
        return err_set(err, ERR_INPUT, "'%s' is not below '%s'", path, h->folder);
    return path ? open_below(folder, p->path, &p->fd, err) : 0;
}

/* We open the exceptions before we cover the folder: afterwards no path leads to them. */
int hide_folder(const struct hiding *h, struct err *err)
{
    own_cleanup(part_done) struct part open = {.fd = -1, .writable = true}, shown = {.fd = -1};
    const struct part *const parts[] = {&open, &shown};
    autoclose int parent = -1, folder = -1, top = -1;
    const char *name;
    char at[BENEATH_NAME];
    if (!h->folder)
        return 0;
    if (beneath_folder_of(h->folder, &parent, &name, err) ||
        open_entry(parent, name, &folder, err) || open_part(h, folder, h->open, &open, err) ||
        open_part(h, folder, h->shown, &shown, err))
        return -1;
    beneath_name(folder, at);
    if (mount("anabranch", at, "tmpfs", PLAIN, "mode=0755") < 0)
        return err_sys(err, "hide '%s'", h->folder);
    if (open_entry(parent, name, &top, err))
        return -1;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i]->path &&
            mount_part(top, parts[i]->fd, parts[i]->path, parts[i]->writable, err))
            return -1;
    }
    return make_read_only(top, err);
}

static bool is_mounted(const char *folder)
{
    autofree char *above = mem_printf("%s/..", folder);
    struct stat st, parent;
    return stat(folder, &st) == 0 && stat(above, &parent) == 0 && st.st_dev != parent.st_dev;
}

bool hide_is_hidden(const char *folder)
{
    struct statfs fs;
    return statfs(folder, &fs) == 0 && fs.f_type == TMPFS_MAGIC && (fs.f_flags & ST_RDONLY) &&
           is_mounted(folder);
}

#else

int hide_folder(const struct hiding *hiding, struct err *err)
{
    return hiding->folder ? err_set(err, ERR_ENV, "this system cannot hide a folder") : 0;
}

bool hide_is_hidden(const char *folder)
{
    (void)folder;
    return false;
}

#endif
