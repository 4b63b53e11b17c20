#include "sys/contain/clone_process.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/sched.h>
#include <sys/mman.h>

/* From <sched.h>, whose other names are those of <linux/sched.h> as well. */
int clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...);

/* The sanitizer does not know the stack of the child. */
#ifdef __SANITIZE_ADDRESS__
enum { CAN_SHARE = 0 };
#else
enum { CAN_SHARE = 1 };
#endif

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

/* The kernel stops us until the child has left our memory, so nobody else uses its stack. A handler
 * of ours must not run in the child. */
int clone_to_exec(int (*fn)(void *arg), void *arg, size_t stack, pid_t *ret_pid, struct err *err)
{
    const int how = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;
    sigset_t all, before;
    sigfillset(&all);
    if (!CAN_SHARE)
        return err_set(err, ERR_ENV, "clone: not with this sanitizer");
    char *bytes = mmap(NULL, stack, how, kind, -1, 0);
    if (bytes == MAP_FAILED)
        return err_sys(err, "mmap");
    if (sigprocmask(SIG_SETMASK, &all, &before) < 0) {
        (void)munmap(bytes, stack);
        return err_sys(err, "hold signals");
    }
    pid_t pid = clone(fn, bytes + stack, CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
    int why = errno;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)munmap(bytes, stack);
    errno = why;
    if (pid < 0)
        return err_sys(err, "clone");
    *ret_pid = pid;
    return 0;
}

#else

int clone_to_exec(int (*fn)(void *arg), void *arg, size_t stack, pid_t *ret_pid, struct err *err)
{
    (void)fn, (void)arg, (void)stack, (void)ret_pid;
    errno = ENOSYS;
    return err_sys(err, "clone");
}

int clone_process(const struct clone_place *place, pid_t *ret_pid, struct err *err)
{
    (void)place;
    (void)ret_pid;
    errno = ENOSYS;
    return err_sys(err, "clone");
}

#endif
