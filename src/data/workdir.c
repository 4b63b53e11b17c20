#include "data/workdir.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/dirs.h"
#include "sys/file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

int workdir_hide(const char *work, struct err *err)
{
    autofree char *path = mem_printf("%s/.gitignore", work);
    static const char all[] = "*\n";
    struct err why = {0};
    if (file_create(path, all, strlen(all), &why) && why.errnum != EEXIST)
        return err_set(err, why.code, "%s", why.msg);
    return 0;
}

/* Also where it cannot be locked, as on a disk that may not be written to any more. */
void workdir_tidy(const char *lock, const char *work, const char *run)
{
    autoclose int fd = -1;
    (void)dirs_lock(lock, &fd, NULL);
    autofree char *own = mem_printf("%s/%s", work, run);
    autofree char *ignore = mem_printf("%s/.gitignore", work);
    (void)rmdir(own);
    bool hidden = unlink(ignore) == 0;
    if (rmdir(work) < 0 && hidden)
        (void)workdir_hide(work, NULL);
    const char *slash = strrchr(work, '/');
    autofree char *parent = mem_dup(work, (size_t)(slash - work));
    if (strcmp(slash + 1, "worktrees") == 0)
        (void)rmdir(parent);
}
