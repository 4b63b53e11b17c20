#include "sys/guard/proc_usage.h"

#include "base/own.h"
#include "sys/own_fd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the beginning of a file in /proc; false if the process is gone. */
static bool read_start(pid_t pid, const char *name, char *text, size_t size)
{
    autoclose int fd = proc_table_open(pid, name, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Resident memory, with shared pages counted in full: fast to read, and never too low. */
static int64_t read_resident_bytes(pid_t pid)
{
    char text[128], *rest;
    if (!read_start(pid, "statm", text, sizeof(text)))
        return 0;
    (void)strtoll(text, &rest, 10);
    return strtoll(rest, NULL, 10) * sysconf(_SC_PAGESIZE);
}

/* Resident memory, with a share of shared pages. Slow: the kernel walks all pages of the
 * process. */
static int64_t read_proportional_bytes(pid_t pid)
{
    char text[2048];
    if (!read_start(pid, "smaps_rollup", text, sizeof(text)))
        return read_resident_bytes(pid);
    const char *line = strstr(text, "\nPss:");
    return line ? strtoll(line + strlen("\nPss:"), NULL, 10) * 1024 : read_resident_bytes(pid);
}

static int64_t sum_over(const struct proc_table *procs, int64_t (*of)(pid_t pid))
{
    int64_t total = 0;
    for (size_t i = 0; i < procs->all.n; i++)
        total += of(procs->all.v[i].pid);
    return total;
}

bool usage_exceeds_memory(const struct proc_table *procs, int64_t bytes)
{
    return sum_over(procs, read_resident_bytes) > bytes &&
           sum_over(procs, read_proportional_bytes) > bytes;
}
