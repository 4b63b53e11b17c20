#include "sys/guard/proc_usage.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Resident memory, with shared pages counted in full: fast to read, and never too low. */
static int64_t read_resident_bytes(pid_t pid)
{
    char text[128], *rest;
    if (!proc_table_read(pid, "statm", text, sizeof(text)))
        return 0;
    (void)strtoll(text, &rest, 10);
    return strtoll(rest, NULL, 10) * sysconf(_SC_PAGESIZE);
}

/* Resident memory, with a share of shared pages. Slow: the kernel walks all pages of the
 * process. */
static int64_t read_proportional_bytes(pid_t pid)
{
    char text[2048];
    if (!proc_table_read(pid, "smaps_rollup", text, sizeof(text)))
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
