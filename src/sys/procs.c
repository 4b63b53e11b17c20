#include "sys/procs.h"

#include "base/own.h"
#include "sys/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Places of fields in /proc/PID/stat, from 1, as proc(5) counts them. */
enum { STAT_PARENT = 4, STAT_START = 22 };

struct entry {
    pid_t pid, parent;
    char state;
    long long start;
};

/* /proc/PID/stat: the name, in brackets, may hold anything, so its end is the last bracket. */
static bool read_stat(pid_t pid, struct entry *ret)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *rest = strrchr(text, ')');
    if (!rest || strlen(rest) < 4)
        return false;
    *ret = (struct entry){.pid = pid, .state = rest[2]};
    char *at = (char *)rest + 3;
    for (int field = 4; field <= STAT_START; field++) {
        long long value = strtoll(at, &at, 10);
        if (field == STAT_PARENT)
            ret->parent = (pid_t)value;
        if (field == STAT_START)
            ret->start = value;
    }
    return true;
}

int64_t procs_start(pid_t pid)
{
    struct entry e;
    return read_stat(pid, &e) ? e.start : 0;
}

static int by_pid(const void *a, const void *b)
{
    pid_t pa = ((const struct entry *)a)->pid, pb = ((const struct entry *)b)->pid;
    return pa < pb ? -1 : pa > pb;
}

struct table {
    VEC(struct entry) all;
};

static void read_table(struct table *t)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    for (struct dirent *d; (d = readdir(dir));) {
        char *end;
        long pid = strtol(d->d_name, &end, 10);
        struct entry e;
        if (pid > 0 && !*end && read_stat((pid_t)pid, &e))
            vec_push(&t->all, e);
    }
    (void)closedir(dir);
    if (t->all.n)
        qsort(t->all.v, t->all.n, sizeof(*t->all.v), by_pid);
}

/* Whether the way up from a process leads to root; it is cut where the table changed under us. */
static bool descends(const struct table *t, const struct entry *e, pid_t root)
{
    for (size_t steps = 0; e && steps <= t->all.n; steps++) {
        if (e->parent == root)
            return true;
        struct entry key = {.pid = e->parent};
        e = bsearch(&key, t->all.v, t->all.n, sizeof(key), by_pid);
    }
    return false;
}

void procs_below(struct procs *procs, pid_t root)
{
    struct table t = {0};
    read_table(&t);
    for (size_t i = 0; i < t.all.n; i++) {
        if (t.all.v[i].state != 'Z' && descends(&t, &t.all.v[i], root))
            vec_push(&procs->pids, t.all.v[i].pid);
    }
    vec_done(&t.all);
}

void procs_command(pid_t pid, struct buf *out)
{
    char path[64], text[200];
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (n <= 0) {
        buf_addf(out, "process %d", (int)pid);
        return;
    }
    while (n > 1 && !text[n - 1])
        n--;
    for (ssize_t i = 0; i < n; i++)
        buf_addch(out, text[i] ? text[i] : ' ');
}
