#include "agent/sim/sim_private.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "sys/own_dir.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int start_command(char *const argv[], int out_fd, int errs_fd, pid_t *ret_pid,
                         struct err *err)
{
    struct spawn sp = {.argv = argv, .fds = {SPAWN_NULL, out_fd, errs_fd, SPAWN_NONE, SPAWN_NONE}};
    return spawn_start(&sp, ret_pid, err);
}

/* Runs a command to its end. If it fails, the agent fails, as a real one does. */
static int run_command(struct sim *sim, char *const argv[], int out_fd, struct err *err)
{
    pid_t pid;
    int status;
    if (start_command(argv, out_fd, sim->job->errs_fd, &pid, err) || spawn_reap(pid, &status, err))
        return -1;
    if (status == 0)
        return 0;
    bool killed = WIFSIGNALED(status);
    autofree char *text = mem_printf("line %zu: %s: %s %d", sim->line, argv[0],
                                     killed ? "ended by signal" : "exit status",
                                     killed ? WTERMSIG(status) : WEXITSTATUS(status));
    return sim_finish(sim, 1, text, err);
}

int sim_do_sh(struct sim *sim, char *const *args, struct err *err)
{
    char *const argv[] = {"sh", "-c", args[0], NULL};
    return run_command(sim, argv, sim->job->out_fd, err);
}

int sim_do_tool(struct sim *sim, char *const *args, struct err *err)
{
    autofree char *text = mem_printf("sh %s", args[0]);
    if (sim_tell_tool(sim, text, err) || sim_do_sh(sim, args, err))
        return -1;
    return sim->ended ? 0 : sim_tell_tool(sim, NULL, err);
}

int sim_do_commit(struct sim *sim, char *const *args, struct err *err)
{
    char *const add[] = {"git", "add", "-A", NULL};
    char *const commit[] = {"git", "commit", "-q", "-m", args[0], NULL};
    if (run_command(sim, add, sim->job->errs_fd, err))
        return -1;
    return sim->ended ? 0 : run_command(sim, commit, sim->job->errs_fd, err);
}

int sim_do_spawn(struct sim *sim, char *const *args, struct err *err)
{
    char *const argv[] = {"sh", "-c", args[0], NULL};
    pid_t pid;
    return start_command(argv, sim->job->out_fd, sim->job->errs_fd, &pid, err);
}

/* Inherited descriptors are lifelines of other processes: children must not keep them open. */
static int keep_standard_fds_only(struct err *err)
{
    autodir DIR *fds = opendir("/dev/fd");
    if (!fds)
        return err_sys(err, "open '/dev/fd'");
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = dir_next(fds));) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0 && errno != EBADF)
            rc = err_sys(err, "close descriptor %ld", fd);
    }
    return rc;
}

/* Runs in the first of two forks: starts a session and leaves the daemon in it as an orphan. */
static int start_daemon(char *const argv[], struct err *err)
{
    pid_t pid;
    if (setsid() < 0)
        return err_sys(err, "setsid");
    if (keep_standard_fds_only(err))
        return -1;
    return start_command(argv, SPAWN_NULL, SPAWN_NULL, &pid, err);
}

int sim_do_daemon(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    char *const argv[] = {"sh", "-c", args[0], NULL};
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(err, "fork");
    if (pid == 0)
        _exit(start_daemon(argv, err) ? err->errnum : 0);
    if (spawn_reap(pid, &status, err))
        return -1;
    if (status == 0)
        return 0;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return err_sys(err, "start a daemon");
}

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"BUS", SIGBUS},   {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
    {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},   {"INT", SIGINT},   {"KILL", SIGKILL},
    {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV}, {"STOP", SIGSTOP}, {"SYS", SIGSYS},
    {"TERM", SIGTERM}, {"TRAP", SIGTRAP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},
    {"URG", SIGURG},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},
};

static int find_signal(const char *name, int *ret, struct err *err)
{
    const char *bare = strncmp(name, "SIG", 3) == 0 ? name + 3 : name;
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (strcmp(signals[i].name, bare) == 0) {
            *ret = signals[i].number;
            return 0;
        }
    }
    return err_set(err, ERR_INPUT, "'%.80s' is not the name of a signal", name);
}

static int set_handler(int number, void (*handler)(int), struct err *err)
{
    struct sigaction sa = {.sa_handler = handler};
    return sigaction(number, &sa, NULL) < 0 ? err_sys(err, "sigaction") : 0;
}

int sim_do_ignore(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    int number = 0;
    return find_signal(args[0], &number, err) ? -1 : set_handler(number, SIG_IGN, err);
}

/* Our parent may have ignored or blocked the signal; KILL and STOP can be neither. */
static int unblock_signal(int number, struct err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    if (sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
        return err_sys(err, "sigprocmask");
    return number == SIGKILL || number == SIGSTOP ? 0 : set_handler(number, SIG_DFL, err);
}

int sim_do_signal(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    int number = 0;
    if (find_signal(args[0], &number, err) || unblock_signal(number, err))
        return -1;
    struct rlimit no_core = {0};
    if (setrlimit(RLIMIT_CORE, &no_core) < 0)
        return err_sys(err, "setrlimit");
    return raise(number) ? err_sys(err, "raise") : 0;
}

int sim_sleep(int64_t ms, struct err *err)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0) {
        if (errno != EINTR)
            return err_sys(err, "nanosleep");
    }
    return 0;
}

int sim_do_sleep(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim;
    int64_t ms = text_parse_duration(args[0], strlen(args[0]));
    if (ms < 0)
        return err_set(err, ERR_INPUT, "'%.80s' is not a duration", args[0]);
    return sim_sleep(ms, err);
}

int sim_do_hang(struct sim *sim, char *const *args, struct err *err)
{
    (void)sim, (void)args, (void)err;
    for (;;)
        (void)pause();
}
