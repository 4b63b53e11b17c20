#include "sys/contain/clone_process.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/sched.h>

int clone_process(const struct clone_place *place, pid_t *ret_pid, struct err *err)
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    if (place->pids)
        args.flags |= CLONE_NEWPID;
    if (place->mounts)
        args.flags |= CLONE_NEWNS;
    if (place->users)
        args.flags |= CLONE_NEWUSER;
    if (place->cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)place->cgroup;
    }
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0)
        return err_sys(err, "clone");
    *ret_pid = pid;
    return 0;
}

#else

int clone_process(const struct clone_place *place, pid_t *ret_pid, struct err *err)
{
    (void)place;
    (void)ret_pid;
    errno = ENOSYS;
    return err_sys(err, "clone");
}

#endif
