#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "sys/fs/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes the folders above `path`, with the permissions that the user's umask allows: they are part
 * of the agent's work. */
static int make_parents(const char *path, struct err *err)
{
    autofree char *dir = mem_str(path);
    for (char *slash = dir; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(dir, 0777) < 0 && errno != EEXIST)
            return err_sys(err, "make folder '%s'", dir);
        *slash = '/';
    }
    return 0;
}

static int put_line(const char *path, int flags, const char *text, struct err *err)
{
    autofree char *line = mem_printf("%s\n", text);
    if (!*path)
        return err_set(err, ERR_INPUT, "the path is empty");
    if (make_parents(path, err))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    int rc = sim_write(fd, line, strlen(line), err);
    if (close(fd) < 0 && rc == 0)
        rc = err_sys(err, "close");
    return rc ? err_wrap(err, "'%s'", path) : 0;
}

int sim_do_write(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    return put_line(args[0], O_TRUNC, args[1], err);
}

int sim_do_append(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    return put_line(args[0], O_APPEND, args[1], err);
}

int sim_do_delete(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    struct stat st;
    if (lstat(args[0], &st) < 0)
        return err_sys(err, "delete '%s'", args[0]);
    return dirs_remove(args[0], err);
}

int sim_do_rename(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    if (make_parents(args[1], err))
        return -1;
    if (rename(args[0], args[1]) < 0)
        return err_sys(err, "rename '%s' to '%s'", args[0], args[1]);
    return 0;
}

int sim_do_chmod(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    size_t digits = strspn(args[0], "01234567");
    if (digits == 0 || digits > 4 || args[0][digits])
        return err_set(err, ERR_INPUT, "'%.80s' is not a mode in octal digits", args[0]);
    if (chmod(args[1], (mode_t)strtoul(args[0], NULL, 8)) < 0)
        return err_sys(err, "chmod '%s'", args[1]);
    return 0;
}

int sim_do_symlink(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    if (make_parents(args[1], err))
        return -1;
    if (symlink(args[0], args[1]) < 0)
        return err_sys(err, "link '%s' to '%s'", args[1], args[0]);
    return 0;
}
