#include "workspace/root_folder.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/beneath.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IGNORE ".gitignore"

static const char ignore_all[] = "*\n";

/* If there is an ignore file, the folder is not ours alone: leave it. */
static int write_ignore_file(int folder, const char *work, struct err *err)
{
    autoclose int fd =
        openat(folder, IGNORE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0 || write(fd, ignore_all, strlen(ignore_all)) != (ssize_t)strlen(ignore_all))
        return err_sys(err, "create '%s/" IGNORE "'", work);
    return 0;
}

int root_folder_hide(const char *work, struct err *err)
{
    autoclose int folder = -1;
    return beneath_folder(work, &folder, err) ? -1 : write_ignore_file(folder, work, err);
}

static bool is_ours(int folder)
{
    autoclose int fd = openat(folder, IGNORE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[sizeof(ignore_all)];
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           read(fd, text, sizeof(text)) == (ssize_t)strlen(ignore_all) &&
           memcmp(text, ignore_all, strlen(ignore_all)) == 0;
}

/* Continues without the lock, for example on a read-only file system. */
void root_folder_tidy(const char *lock, const char *work, const char *run)
{
    autoclose int fd = -1, above = -1;
    const char *name;
    (void)dirs_lock(lock, &fd, NULL);
    if (beneath_folder_of(work, &above, &name, NULL))
        return;
    autoclose int folder = beneath_at(above, name);
    if (folder < 0)
        return;
    (void)unlinkat(folder, run, AT_REMOVEDIR);
    bool hidden = is_ours(folder) && unlinkat(folder, IGNORE, 0) == 0;
    if (unlinkat(above, name, AT_REMOVEDIR) < 0 && hidden)
        (void)write_ignore_file(folder, work, NULL);
    const char *slash = strrchr(work, '/');
    autofree char *parent = mem_dup(work, (size_t)(slash - work));
    if (strcmp(name, "worktrees") == 0)
        (void)rmdir(parent);
}
