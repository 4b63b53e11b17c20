#include "sys/fs/known_folder.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/dirs.h"
#include "sys/fs/remove.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

char *known_folder(const char *path, const struct file_id *id)
{
    return mem_printf("%" PRIuMAX ":%" PRIuMAX ":%s", (uintmax_t)id->dev, (uintmax_t)id->ino, path);
}

const char *known_folder_path(const char *folder)
{
    return folder + strcspn(folder, "/");
}

/* False if the string is only a path. */
static bool read_id(const char *folder, struct file_id *ret)
{
    char *end;
    if (*folder < '0' || *folder > '9')
        return false;
    ret->dev = (dev_t)strtoumax(folder, &end, 10);
    if (*end != ':')
        return false;
    ret->ino = (ino_t)strtoumax(end + 1, &end, 10);
    return *end == ':';
}

bool known_folder_is_there(const char *folder)
{
    autoclose int parent = -1;
    const char *name;
    struct file_id id;
    struct stat st;
    if (beneath_folder_of(known_folder_path(folder), &parent, &name, NULL))
        return false;
    return read_id(folder, &id) ? file_id_is_at(&id, parent, name)
                                : fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int known_folder_remove(const char *folder, struct err *err)
{
    const char *path = known_folder_path(folder), *name;
    autoclose int parent = -1;
    struct file_id id;
    struct err why = {0};
    if (!read_id(folder, &id))
        return dirs_remove(folder, err);
    if (beneath_folder_of(path, &parent, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "remove '%s': %s", path, why.msg);
    return remove_known_tree(parent, name, &id, path, err);
}
