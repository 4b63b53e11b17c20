#include "sys/namespace.h"

#include "base/own.h"
#include "sys/clone.h"
#include "sys/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/mount.h>
#include <sys/prctl.h>

static int write_file(const char *path, const char *text, struct err *err)
{
    autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        return err_sys(err, "write '%s'", path);
    return 0;
}

int namespace_map_user(uid_t uid, gid_t gid, struct err *err)
{
    char users[64], groups[64];
    (void)snprintf(users, sizeof(users), "%u %u 1", (unsigned)uid, (unsigned)uid);
    (void)snprintf(groups, sizeof(groups), "%u %u 1", (unsigned)gid, (unsigned)gid);
    return write_file("/proc/self/setgroups", "deny", err) ||
                   write_file("/proc/self/uid_map", users, err) ||
                   write_file("/proc/self/gid_map", groups, err)
               ? -1
               : 0;
}

/* What is mounted outside later on is seen inside, what is mounted inside is not seen outside. */
static int mount_proc(struct err *err)
{
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_sys(err, "make the mounts our own");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return err_sys(err, "mount /proc");
    return 0;
}

static int settle_in(bool users, uid_t uid, gid_t gid, struct err *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return err_sys(err, "die with the parent");
    if (users && namespace_map_user(uid, gid, err))
        return -1;
    return mount_proc(err);
}

/* In a user namespace root's files seem to be nobody's, and ssh refuses parts of its configuration
 * that are neither ours nor root's: an agent's git would not get through. */
static int check_ssh(struct err *err)
{
    static const char folder[] = "/etc/ssh/ssh_config.d";
    DIR *dir = opendir(folder);
    bool some = false;
    for (struct dirent *d; dir && !some && (d = readdir(dir));)
        some = *d->d_name != '.';
    if (dir)
        (void)closedir(dir);
    return some ? err_set(err, ERR_ENV, "in a user namespace ssh would refuse the files in '%s'",
                          folder)
                : 0;
}

/* The copy says "+", or why not; where we have gone meanwhile it finds nobody to say it to. */
static void report(int fd, int rc, const struct err *err)
{
    const char *text = rc ? err->msg : "+";
    size_t len = strlen(text);
    if (write(fd, text, len) != (ssize_t)len || rc)
        _exit(1);
    (void)close(fd);
}

static int read_report(int fd, pid_t pid, struct err *err)
{
    char text[sizeof(err->msg)];
    ssize_t n;
    while ((n = read(fd, text, sizeof(text) - 1)) < 0 && errno == EINTR)
        ;
    if (n == 1 && *text == '+')
        return 0;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    text[n > 0 ? n : 0] = '\0';
    return err_set(err, ERR_ENV, "%s", n > 0 ? text : "it ended at once");
}

int namespace_enter(pid_t *ret_init, struct err *err)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    struct clone_place place = {.pids = true, .mounts = true, .users = uid != 0, .cgroup = -1};
    int ends[2];
    pid_t pid;
    if ((place.users && check_ssh(err)) || spawn_pipe(ends, err))
        return -1;
    autoclose int reader = ends[0], writer = ends[1];
    if (clone_process(&place, &pid, err))
        return -1;
    if (pid == 0) {
        (void)close(steal_fd(&reader));
        report(steal_fd(&writer), settle_in(place.users, uid, gid, err), err);
        *ret_init = 0;
        return 0;
    }
    (void)close(steal_fd(&writer));
    if (read_report(reader, pid, err))
        return -1;
    *ret_init = pid;
    return 0;
}

#else

int namespace_enter(pid_t *ret_init, struct err *err)
{
    (void)ret_init;
    return err_set(err, ERR_ENV, "this system has no pid namespaces");
}

int namespace_map_user(uid_t uid, gid_t gid, struct err *err)
{
    (void)uid, (void)gid;
    return err_set(err, ERR_ENV, "this system has no user namespaces");
}

#endif
