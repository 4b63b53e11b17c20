#include "run/attempt/attempt_dir.h"

#include "base/mem.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int attempt_dir_make(struct attempt *job, struct err *err)
{
    autofree char *tmp = attempt_file(job, "tmp");
    autoclose int fd = -1;
    if (dirs_make(tmp, err) || beneath_folder(job->dir, &fd, err))
        return -1;
    return file_id_of(fd, &job->dir_id) < 0 ? err_sys(err, "look at '%s'", job->dir) : 0;
}

static bool is_our_folder(const struct attempt *job)
{
    autoclose int fd = -1;
    struct file_id id;
    return beneath_folder(job->dir, &fd, NULL) == 0 && file_id_of(fd, &id) == 0 &&
           id.dev == job->dir_id.dev && id.ino == job->dir_id.ino;
}

/* Removes symlinks and files in place of the parent folders. */
static int clear_path(const struct attempt *job, struct err *err)
{
    size_t start = strlen(job->run->state_dir);
    for (const char *end = job->dir + start; end; end = strchr(end + 1, '/')) {
        autofree char *path = mem_dup(job->dir, (size_t)(end - job->dir));
        if (workspace_make_way(path, err))
            return -1;
    }
    return workspace_make_way(job->dir, err);
}

/* Renames another folder in our place; its content stays. */
static int move_aside(const struct attempt *job, struct err *err)
{
    autofree char *other = mem_printf("%s.other-%lld", job->dir, (long long)clock_wall());
    autoclose int folder = -1;
    const char *name;
    struct err why = {0};
    if (beneath_folder_of(job->dir, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    return renameat(folder, name, folder, strrchr(other, '/') + 1) < 0 && errno != ENOENT
               ? err_sys(err, "rename '%s'", job->dir)
               : 0;
}

void attempt_dir_check(struct attempt *job)
{
    struct err err = {0};
    if (!job->dir_id.ino || is_our_folder(job))
        return;
    free(job->lost_dir);
    job->lost_dir = mem_printf("'%s' is not the folder that we made", job->dir);
    if (clear_path(job, &err) || move_aside(job, &err) || attempt_dir_make(job, &err))
        record_error(job->run, job->task, &err);
}
