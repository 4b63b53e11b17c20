#include "run/attempt/attempt_dir.h"

#include "base/mem.h"
#include "run/attempt/attempt.h"
#include "run/attempt/feedback.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/own_fd.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int attempt_dir_make(struct attempt *attempt, struct err *err)
{
    autofree char *tmp = attempt_file(attempt, "tmp");
    autoclose int fd = -1;
    if (dirs_make(tmp, err) || beneath_folder(attempt->dir, &fd, err))
        return -1;
    return file_id_of(fd, &attempt->dir_id) < 0 ? err_sys(err, "look at '%s'", attempt->dir) : 0;
}

static bool is_our_folder(const struct attempt *attempt)
{
    autoclose int fd = -1;
    struct file_id id;
    return beneath_folder(attempt->dir, &fd, NULL) == 0 && file_id_of(fd, &id) == 0 &&
           id.dev == attempt->dir_id.dev && id.ino == attempt->dir_id.ino;
}

/* Removes symlinks and files in place of the parent folders. */
static int clear_path(const struct attempt *attempt, struct err *err)
{
    size_t start = strlen(attempt->run->files.state);
    for (const char *end = attempt->dir + start; end; end = strchr(end + 1, '/')) {
        autofree char *path = mem_dup(attempt->dir, (size_t)(end - attempt->dir));
        if (workspace_make_way(path, err))
            return -1;
    }
    return workspace_make_way(attempt->dir, err);
}

/* Renames another folder in our place; its content stays. */
static int move_aside(const struct attempt *attempt, struct err *err)
{
    autofree char *other = mem_printf("%s.other-%lld", attempt->dir, (long long)clock_wall());
    autoclose int folder = -1;
    const char *name;
    struct err why = {0};
    if (beneath_folder_of(attempt->dir, &folder, &name, &why))
        return why.errnum == ENOENT ? 0 : err_set(err, why.code, "%s", why.msg);
    return renameat(folder, name, folder, strrchr(other, '/') + 1) < 0 && errno != ENOENT
               ? err_sys(err, "rename '%s'", attempt->dir)
               : 0;
}

void attempt_dir_check(struct attempt *attempt)
{
    struct err err = {0};
    if (!attempt->dir_id.ino || is_our_folder(attempt))
        return;
    free(attempt->dir_error);
    attempt->dir_error = mem_printf("'%s' is not the folder that we made", attempt->dir);
    if (clear_path(attempt, &err) || move_aside(attempt, &err) || attempt_dir_make(attempt, &err))
        record_error(attempt->run, attempt->task, &err);
}
