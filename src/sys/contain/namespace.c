#include "sys/contain/namespace.h"

#include "base/own.h"
#include "sys/contain/clone_process.h"
#include "sys/guard/proc_table.h"
#include "sys/own_dir.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

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

/* Later mounts outside become visible inside, but not the other way round. Root could unmount our
 * /proc and see the one below, which shows the processes outside. So we unmount that one first. In
 * a user namespace nobody can unmount either. */
static int mount_proc(struct err *err)
{
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_sys(err, "make the mounts our own");
    (void)umount2("/proc", MNT_DETACH);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return err_sys(err, "mount /proc");
    return 0;
}

static int set_up_init(bool users, uid_t uid, gid_t gid, const struct hiding *hiding,
                       struct err *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return err_sys(err, "die with the parent");
    if (users && namespace_map_user(uid, gid, err))
        return -1;
    return mount_proc(err) || hide_folder(hiding, err) ? -1 : 0;
}

/* In a user namespace files of root seem to belong to nobody. ssh then refuses parts of its
 * configuration, because their owner is neither we nor root. So git of an agent could not
 * connect. */
static int check_ssh(struct err *err)
{
    static const char folder[] = "/etc/ssh/ssh_config.d";
    autodir DIR *dir = opendir(folder);
    bool some = false;
    for (struct dirent *d; !some && (d = dir_next(dir));)
        some = *d->d_name != '.';
    return some ? err_set(err, ERR_ENV, "in a user namespace ssh would refuse the files in '%s'",
                          folder)
                : 0;
}

/* The init reports "+" or its error. If we have died meanwhile, nobody reads the report, and it
 * exits. */
static void report_to_parent(int fd, int rc, const struct err *err)
{
    const char *text = rc ? err->msg : "+";
    size_t len = strlen(text);
    if (write(fd, text, len) != (ssize_t)len || rc)
        _exit(1);
}

/* The init holds nothing and decides nothing, so an attacker who takes it over gains nothing. It
 * ignores SIGCHLD, so the kernel reaps orphans. */
__attribute__((noreturn)) static void live_as_init(void)
{
    enum { DESCRIPTORS = 256 }; /* descriptors of a guard, if the system cannot close all at once */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (sigaction(SIGCHLD, &ignore, NULL) < 0)
        _exit(1);
    if (syscall(SYS_close_range, 0U, ~0U, 0U) < 0) {
        for (int fd = 0; fd < DESCRIPTORS; fd++)
            (void)close(fd);
    }
    for (;;)
        (void)pause();
}

static int read_report(int fd, pid_t pid, struct err *err)
{
    char text[sizeof(err->msg)];
    ssize_t n;
    while ((n = read(fd, text, sizeof(text) - 1)) < 0 && errno == EINTR)
        ;
    if (n == 1 && *text == '+')
        return 0;
    (void)spawn_reap(pid, NULL, NULL);
    text[n > 0 ? n : 0] = '\0';
    return err_set(err, ERR_ENV, "%s", n > 0 ? text : "it ended at once");
}

static int start_init(const struct hiding *hiding, pid_t *ret_init, struct err *err)
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
        report_to_parent(writer, set_up_init(place.users, uid, gid, hiding, err), err);
        live_as_init();
    }
    (void)close(steal_fd(&writer));
    if (read_report(reader, pid, err))
        return -1;
    *ret_init = pid;
    return 0;
}

static int open_of_init(pid_t init, const char *name, int flags, int *ret_fd, struct err *err)
{
    if ((*ret_fd = proc_table_open(init, name, flags)) < 0)
        return err_sys(err, "open '/proc/%d/%s'", (int)init, name);
    return 0;
}

/* Enters the namespaces of the init. Without root we enter its user namespace first: only there we
 * may enter the others. */
static int enter_namespaces(pid_t init, struct err *err)
{
    bool users = geteuid() != 0;
    autoclose int user = -1, pids = -1;
    if ((users && open_of_init(init, "ns/user", 0, &user, err)) ||
        open_of_init(init, "ns/pid", 0, &pids, err))
        return -1;
    if ((users && setns(user, CLONE_NEWUSER) < 0) || setns(pids, CLONE_NEWPID) < 0)
        return err_sys(err, "enter the namespace");
    return 0;
}

int namespace_open(struct namespace *ns, const struct hiding *hiding, struct err *err)
{
    *ns = (struct namespace)NAMESPACE_INIT;
    if (start_init(hiding, &ns->init, err))
        return -1;
    if (open_of_init(ns->init, "ns/mnt", 0, &ns->mounts, err) == 0 &&
        open_of_init(ns->init, "root", O_PATH | O_DIRECTORY, &ns->root, err) == 0 &&
        open_of_init(ns->init, "cwd", O_PATH | O_DIRECTORY, &ns->cwd, err) == 0 &&
        open_of_init(ns->init, "root/proc", O_DIRECTORY, &ns->proc, err) == 0 &&
        enter_namespaces(ns->init, err) == 0)
        return 0;
    (void)kill(ns->init, SIGKILL);
    (void)spawn_reap(ns->init, NULL, NULL);
    namespace_close(ns);
    return -1;
}

void namespace_close(struct namespace *ns)
{
    own_close(&ns->mounts);
    own_close(&ns->root);
    own_close(&ns->cwd);
    own_close(&ns->proc);
    *ns = (struct namespace)NAMESPACE_INIT;
}

/* setns() leads to the root of all mounts, and ours may be another. We use descriptors and no
 * paths. */
bool namespace_join(const struct namespace *ns)
{
    return setns(ns->mounts, CLONE_NEWNS) == 0 && fchdir(ns->root) == 0 && chroot(".") == 0 &&
           fchdir(ns->cwd) == 0;
}

#else

int namespace_open(struct namespace *ns, const struct hiding *hiding, struct err *err)
{
    (void)hiding;
    *ns = (struct namespace)NAMESPACE_INIT;
    return err_set(err, ERR_ENV, "this system has no pid namespaces");
}

void namespace_close(struct namespace *ns)
{
    (void)ns;
}

bool namespace_join(const struct namespace *ns)
{
    (void)ns;
    errno = ENOSYS;
    return false;
}

int namespace_map_user(uid_t uid, gid_t gid, struct err *err)
{
    (void)uid, (void)gid;
    return err_set(err, ERR_ENV, "this system has no user namespaces");
}

#endif
