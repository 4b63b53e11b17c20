#include "sys/proc/spawn.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/clock.h"
#include "sys/contain/fence.h"
#include "sys/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { GRACE_MS = 1000 };

static const rlim_t memory_min = (rlim_t)2 << 30;

static int add_null(posix_spawn_file_actions_t *fa, int fd)
{
    return posix_spawn_file_actions_addopen(fa, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
}

/* Returns the first number beyond all descriptors of the child and all sources, or 0 if no source
 * has a number that the child uses. */
static int find_aside(const int fds[SPAWN_FDS])
{
    int aside = SPAWN_FDS;
    bool mixed = false;
    for (int i = 0; i < SPAWN_FDS; i++) {
        aside = fds[i] >= aside ? fds[i] + 1 : aside;
        mixed = mixed || (fds[i] >= 0 && fds[i] < SPAWN_FDS);
    }
    return mixed ? aside : 0;
}

/* A source descriptor may have a number that another one must get. Then we first copy all of them
 * to higher numbers. */
static int add_fds(posix_spawn_file_actions_t *fa, const int fds[SPAWN_FDS])
{
    int rc = 0, aside = find_aside(fds);
    for (int i = 0; aside && i < SPAWN_FDS && !rc; i++) {
        if (fds[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(fa, fds[i], aside + i);
    }
    for (int i = 0; i < SPAWN_FDS && !rc; i++) {
        if (fds[i] == SPAWN_NULL)
            rc = add_null(fa, i);
        else if (fds[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(fa, aside ? aside + i : fds[i], i);
        if (fds[i] >= 0 && aside && !rc)
            rc = posix_spawn_file_actions_addclose(fa, aside + i);
    }
    return rc;
}

#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define HAS_CLOSEFROM 1
#endif
#endif

/* The shell may have left descriptors open for us. We pass none of them on. Our own are
 * close-on-exec. */
static int close_others(posix_spawn_file_actions_t *fa, const int fds[SPAWN_FDS])
{
    int first = SPAWN_FDS;
    while (first > STDERR_FILENO + 1 && fds[first - 1] == SPAWN_NONE)
        first--;
#ifdef HAS_CLOSEFROM
    return posix_spawn_file_actions_addclosefrom_np(fa, first);
#else
    (void)fa;
    return 0;
#endif
}

static int set_attributes(posix_spawnattr_t *attr, bool new_session)
{
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGHUP);
    if (new_session)
        flags |= POSIX_SPAWN_SETSID;
    int rc = posix_spawnattr_setsigmask(attr, &none);
    if (!rc)
        rc = posix_spawnattr_setsigdefault(attr, &defaults);
    return rc ? rc : posix_spawnattr_setflags(attr, flags);
}

/* The user's hooks may use as much memory as they like. A git that cannot run hooks has
 * core.hooksPath=/dev/null. */
static bool runs_hooks(char *const *argv)
{
    for (; *argv; argv++) {
        if (strcmp(*argv, "core.hooksPath=/dev/null") == 0)
            return false;
    }
    return true;
}

/* Limits the memory of git. git reads some files whole, and an agent can make them huge: git must
 * fail before the machine runs out of memory. Half of the memory is more than honest repositories
 * need. */
static void bound_memory(pid_t pid)
{
#ifdef __linux__
    static rlim_t bytes;
    if (!bytes) {
        rlim_t half = (rlim_t)sysconf(_SC_PHYS_PAGES) * (rlim_t)sysconf(_SC_PAGESIZE) / 2;
        bytes = half > memory_min ? half : memory_min;
    }
    /* prlimit() fails if the process has ended. The limit may be lower already. */
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_DATA, NULL, &limit) == 0 && limit.rlim_cur > bytes) {
        limit.rlim_cur = bytes; /* programs that git starts for the user may raise it again */
        (void)prlimit(pid, RLIMIT_DATA, &limit, NULL);
    }
#else
    (void)pid;
#endif
}

/* Add this before the descriptors are moved: one of them may get the number of the folder's
 * descriptor. */
static int add_folder(posix_spawn_file_actions_t *fa, const struct spawn *sp)
{
    if (sp->folder)
        return posix_spawn_file_actions_addfchdir_np(fa, *sp->folder);
    return sp->dir ? posix_spawn_file_actions_addchdir_np(fa, sp->dir) : 0;
}

/* Arguments and result of the thread that starts a process behind a fence. */
struct start {
    const struct spawn *sp;
    const posix_spawn_file_actions_t *fa;
    const posix_spawnattr_t *attr;
    pid_t pid;
    int rc;
};

static void *run_spawn(void *arg)
{
    struct start *s = arg;
    const struct spawn *sp = s->sp;
    if (sp->fence)
        fence_enter(sp->fence);
    s->rc =
        posix_spawnp(&s->pid, sp->argv[0], s->fa, s->attr, sp->argv, sp->env ? sp->env : environ);
    return NULL;
}

/* A fence applies to one thread, and the thread can never leave it. So a new thread enters the
 * fence and starts the process. We block signals, so that this thread gets none. */
static int start_fenced(struct start *s)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (rc)
        return rc;
    rc = pthread_create(&thread, NULL, run_spawn, s);
    if (!rc)
        rc = pthread_join(thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? rc : s->rc;
}

int spawn_start(const struct spawn *sp, pid_t *ret_pid, struct err *err)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&fa);
    if (!rc && (rc = posix_spawnattr_init(&attr)))
        posix_spawn_file_actions_destroy(&fa);
    if (rc) {
        errno = rc;
        return err_sys(err, "posix_spawn");
    }
    if (!(rc = add_folder(&fa, sp)) && !(rc = add_fds(&fa, sp->fds)) &&
        !(rc = close_others(&fa, sp->fds)) && !(rc = set_attributes(&attr, sp->new_session))) {
        struct start s = {.sp = sp, .fa = &fa, .attr = &attr};
        rc = sp->fence ? start_fenced(&s) : (run_spawn(&s), s.rc);
        if (!rc)
            *ret_pid = s.pid;
    }
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    if (!rc && strcmp(sp->argv[0], "git") == 0 && !runs_hooks(sp->argv))
        bound_memory(*ret_pid);
    if (!rc)
        return 0;
    /* Our descriptors are valid: EBADF means that a number was beyond the limit of open files. */
    errno = rc == EBADF ? EMFILE : rc;
    return err_sys(err, "run '%s'", sp->argv[0]);
}

bool spawn_ended(pid_t pid, int64_t ms)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int64_t end = clock_mono() + ms;; (void)nanosleep(&pause, NULL)) {
        siginfo_t info = {0};
        int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid || (rc < 0 && errno != EINTR))
            return true;
        if (clock_mono() >= end)
            return false;
    }
}

/* The child is not reaped yet, so no other group has its number. */
void spawn_end(pid_t pid)
{
    (void)kill(-pid, SIGTERM);
    (void)spawn_ended(pid, GRACE_MS);
    (void)kill(-pid, SIGKILL);
}

int spawn_reap(pid_t pid, int *ret_status, struct err *err)
{
    while (waitpid(pid, ret_status, 0) < 0) {
        if (errno != EINTR)
            return err_sys(err, "wait for a child");
    }
    return 0;
}

int spawn_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int spawn_pipe(int ends[2], struct err *err)
{
#ifdef __APPLE__
    if (pipe(ends) < 0)
        return err_sys(err, "pipe");
    if (fcntl(ends[0], F_SETFD, FD_CLOEXEC) < 0 || fcntl(ends[1], F_SETFD, FD_CLOEXEC) < 0) {
        (void)err_sys(err, "pipe");
        own_close(&ends[0]);
        own_close(&ends[1]);
        return -1;
    }
    return 0;
#else
    return pipe2(ends, O_CLOEXEC) < 0 ? err_sys(err, "pipe") : 0;
#endif
}

char *spawn_find(const char *program)
{
    if (strchr(program, '/'))
        return access(program, X_OK) == 0 ? mem_str(program) : NULL;
    const char *path = getenv("PATH");
    for (size_t len; path && *path; path += len + (path[len] == ':')) {
        len = strcspn(path, ":");
        autofree char *file =
            len ? mem_printf("%.*s/%s", (int)len, path, program) : mem_printf("./%s", program);
        if (access(file, X_OK) == 0)
            return steal_ptr(file);
    }
    return NULL;
}

bool spawn_finds(const char *program)
{
    autofree char *file = spawn_find(program);
    return file;
}

int spawn_captured(struct spawn *sp, int ret_fds[2], pid_t *ret_pid, struct err *err)
{
    int outs[2] = {-1, -1}, errs[2] = {-1, -1};
    int rc = spawn_pipe(outs, err) || spawn_pipe(errs, err) ? -1 : 0;
    sp->fds[1] = outs[1];
    sp->fds[2] = errs[1];
    if (rc == 0)
        rc = spawn_start(sp, ret_pid, err);
    own_close(&outs[1]);
    own_close(&errs[1]);
    if (rc) {
        own_close(&outs[0]);
        own_close(&errs[0]);
    }
    ret_fds[0] = outs[0];
    ret_fds[1] = errs[0];
    return rc;
}
