/*
 * Runs a program several times, one after the other, and prints its cost.
 *
 *     measure [-o] RUNS SECONDS PROGRAM [ARGUMENT]...
 *
 * It runs the program at least once, until there were RUNS runs or SECONDS have passed. The
 * program's standard output goes to /dev/null. The result is one line: the number of runs, the
 * shortest and the median wall time and the least processor time in microseconds, and the largest
 * peak of resident memory in KiB. Processor time includes the program's children (git); the peak is
 * that of the largest process. On Linux, we also wait for processes that the program leaves behind:
 * they count for the processor time, not for the wall time. With -o there is one more number, the
 * peak of the program's own memory, from a hundred samples a second, or 0 if there was no sample.
 * It is an error if the program does not exit with 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { RUNS_MAX = 1000, LOOK_MS = 10 };

struct cost {
    int64_t wall_us, cpu_us;
    long peak_kib, own_kib;
};

extern char **environ;

static int64_t now_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) < 0) {
        perror("measure: clock");
        exit(1);
    }
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int fail(const char *program, const char *what, int errnum)
{
    fprintf(stderr, "measure: %s: %s: %s\n", program, what, strerror(errnum));
    return -1;
}

/* getrusage(2) counts in KiB, on macOS in bytes. */
static long peak_kib(const struct rusage *usage)
{
#ifdef __APPLE__
    return usage->ru_maxrss / 1024;
#else
    return usage->ru_maxrss;
#endif
}

static int64_t cpu_us(const struct rusage *usage)
{
    return (int64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000 +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

/* The peak of a process's own memory so far, or 0. */
static long own_kib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    FILE *f = fopen(path, "r");
    while (f && !kib && fgets(line, sizeof(line), f))
        (void)sscanf(line, "VmHWM: %ld", &kib);
    if (f)
        (void)fclose(f);
    return kib;
}

/* Samples the process until it ends; takes no sample if the system cannot report its end. */
static long watch(pid_t pid)
{
    long peak = 0;
#ifdef SYS_pidfd_open
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {fd, POLLIN, 0};
    while (fd >= 0 && poll(&end, 1, LOOK_MS) == 0) {
        long now = own_kib(pid);
        peak = now > peak ? now : peak;
    }
    if (fd >= 0)
        (void)close(fd);
#else
    (void)pid;
#endif
    return peak;
}

/* Orphans have become our children. */
static void wait_for_rest(void)
{
    while (wait(NULL) >= 0 || errno == EINTR)
        ;
}

static int run(char **argv, const posix_spawn_file_actions_t *actions, bool own, struct cost *ret)
{
    pid_t pid;
    int status;
    struct rusage before, usage, after;
    (void)getrusage(RUSAGE_CHILDREN, &before);
    int64_t start = now_us();
    int rc = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);
    if (rc)
        return fail(argv[0], "cannot be started", rc);
    long peak = own ? watch(pid) : 0;
    while (wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR)
            return fail(argv[0], "cannot be waited for", errno);
    }
    int64_t wall = now_us() - start;
    wait_for_rest();
    (void)getrusage(RUSAGE_CHILDREN, &after);
    *ret = (struct cost){wall, cpu_us(&after) - cpu_us(&before), peak_kib(&usage), peak};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    fprintf(stderr, "measure: %s: %s %d\n", argv[0],
            WIFEXITED(status) ? "exited with" : "was ended by signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return -1;
}

static int by_wall(const void *a, const void *b)
{
    int64_t x = ((const struct cost *)a)->wall_us, y = ((const struct cost *)b)->wall_us;
    return x < y ? -1 : x > y;
}

static int print_costs(struct cost *costs, size_t n, bool own)
{
    int64_t cpu = costs[0].cpu_us;
    long peak = 0, own_peak = 0;
    for (size_t i = 0; i < n; i++) {
        cpu = costs[i].cpu_us < cpu ? costs[i].cpu_us : cpu;
        peak = costs[i].peak_kib > peak ? costs[i].peak_kib : peak;
        own_peak = costs[i].own_kib > own_peak ? costs[i].own_kib : own_peak;
    }
    qsort(costs, n, sizeof(*costs), by_wall);
    printf("%zu %lld %lld %lld %ld", n, (long long)costs[0].wall_us,
           (long long)costs[n / 2].wall_us, (long long)cpu, peak);
    if (own)
        printf(" %ld", own_peak);
    printf("\n");
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct cost costs[RUNS_MAX];
    bool own = argc > 1 && strcmp(argv[1], "-o") == 0;
    argc -= own, argv += own;
    size_t runs = argc > 3 ? strtoul(argv[1], NULL, 10) : 0, n = 0;
    double seconds = argc > 3 ? strtod(argv[2], NULL) : 0;
    if (runs < 1 || runs > RUNS_MAX || !(seconds > 0)) {
        fprintf(stderr, "usage: measure [-o] RUNS SECONDS PROGRAM [ARGUMENT]...\n");
        return 2;
    }
#ifdef __linux__
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
#endif
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);
    if (!rc)
        rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (rc) {
        (void)fail(argv[3], "/dev/null", rc);
        return 1;
    }
    int64_t start = now_us();
    do {
        if (run(argv + 3, &actions, own, &costs[n++]) < 0)
            return 1;
    } while (n < runs && (double)(now_us() - start) < seconds * 1e6);
    posix_spawn_file_actions_destroy(&actions);
    return print_costs(costs, n, own) == 0 ? 0 : 1;
}
