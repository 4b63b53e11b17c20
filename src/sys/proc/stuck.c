#include "sys/proc/stuck.h"

#include "base/mem.h"
#include "base/own.h"
#include "base/text/shell_quote.h"
#include "base/text/str.h"
#include "sys/guard/proc_table.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#include <sys/uio.h>

enum { PAGE = 4096 };

/* The system call in which a process is. */
struct call {
    long number;
    unsigned long args[3];
};

/* Reads the first line of a file of a process; false if that fails. */
static bool read_line(pid_t pid, const char *name, char *line, size_t size)
{
    bool some = proc_table_read(pid, name, line, size);
    line[strcspn(line, "\n")] = '\0';
    return some;
}

static bool is_git(pid_t pid)
{
    char name[32];
    return read_line(pid, "comm", name, sizeof(name)) && strncmp(name, "git", 3) == 0;
}

/* Parses "NUMBER ARGUMENT..."; false for "running". */
static bool read_call(pid_t pid, struct call *ret)
{
    char line[256], *at, *end;
    if (!read_line(pid, "syscall", line, sizeof(line)))
        return false;
    ret->number = strtol(line, &end, 10);
    if (end == line)
        return false;
    for (int i = 0; i < 3; i++) {
        at = end;
        ret->args[i] = strtoul(at, &end, 16);
    }
    return true;
}

/* Reads a string in the memory of a process, page by page: the page behind the string may not
 * exist. */
static bool read_string(pid_t pid, unsigned long address, char ret[PATH_MAX])
{
    for (size_t len = 0; len < PATH_MAX;) {
        size_t step = PAGE - (address + len) % PAGE;
        step = step < PATH_MAX - len ? step : PATH_MAX - len;
        struct iovec here = {ret + len, step}, there = {(void *)(address + len), step};
        ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (n <= 0)
            return false;
        if (memchr(ret + len, '\0', (size_t)n))
            return true;
        len += (size_t)n;
    }
    return false;
}

static bool is_fifo(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* Appends the path as that process sees it. A relative path begins at a link to its folder. */
static void find_path(pid_t pid, long at, const char *name, struct buf *real, struct buf *shown)
{
    char folder[64], target[PATH_MAX];
    ssize_t n = -1;
    if (*name != '/' && at == AT_FDCWD)
        n = snprintf(folder, sizeof(folder), "/proc/%d/cwd", (int)pid);
    else if (*name != '/')
        n = snprintf(folder, sizeof(folder), "/proc/%d/fd/%ld", (int)pid, at);
    if (n > 0) {
        n = readlink(folder, target, sizeof(target) - 1);
        buf_addf(real, "%s/", folder);
        buf_addf(shown, "%.*s/", n > 0 ? (int)n : 0, target);
    }
    buf_addstr(real, name);
    buf_addstr(shown, name);
}

static bool is_opening_fifo(pid_t pid, const struct call *call, struct buf *ret_path)
{
    char name[PATH_MAX];
    autobuf struct buf real = BUF_INIT, shown = BUF_INIT;
    bool at = call->number == SYS_openat, plain = false;
#ifdef SYS_open
    plain = call->number == SYS_open;
#endif
    if ((!at && !plain) || !read_string(pid, call->args[at], name))
        return false;
    find_path(pid, at ? (int)call->args[0] : AT_FDCWD, name, &real, &shown);
    if (!is_fifo(real.s))
        return false;
    buf_add(ret_path, shown.s, shown.len);
    return true;
}

/* Only a FIFO has a path; a pipe is "pipe:[...]". */
static bool is_reading_fifo(pid_t pid, const struct call *call, struct buf *ret_path)
{
    char link[64], name[PATH_MAX];
    if (call->number != SYS_read)
        return false;
    (void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, (int)call->args[0]);
    ssize_t n = readlink(link, name, sizeof(name));
    if (n <= 0 || name[0] != '/' || !is_fifo(link))
        return false;
    buf_add(ret_path, name, (size_t)n);
    return true;
}

/* The system's own devices, such as /dev/null, are below /dev; two of them have no end. */
static bool is_endless_device(const char *name, const struct stat *st)
{
    if (!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode))
        return false;
    return strncmp(name, "/dev/", strlen("/dev/")) != 0 || strcmp(name, "/dev/zero") == 0 ||
           strcmp(name, "/dev/full") == 0;
}

/* A git that reads a device is often not in a system call, so we look at its open files. */
static bool has_endless_device(pid_t pid, struct buf *ret_path)
{
    char folder[32], name[PATH_MAX];
    (void)snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
    autodir DIR *dir = opendir(folder);
    bool found = false;
    for (const struct dirent *e; !found && (e = dir_next(dir));) {
        struct stat st;
        ssize_t n = readlinkat(dirfd(dir), e->d_name, name, sizeof(name) - 1);
        name[n > 0 ? n : 0] = '\0';
        found = name[0] == '/' && strtol(e->d_name, NULL, 10) > STDERR_FILENO &&
                fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && is_endless_device(name, &st);
    }
    if (found)
        buf_addstr(ret_path, name);
    return found;
}

static bool waits_for_fifo(pid_t pid, struct buf *ret_path)
{
    struct call call;
    return read_call(pid, &call) &&
           (is_opening_fifo(pid, &call, ret_path) || is_reading_fifo(pid, &call, ret_path));
}

bool stuck_find(pid_t group, struct buf *ret_path)
{
    autoprocs struct proc_table procs = {0};
    proc_table_in_group(&procs, group);
    for (size_t i = 0; i < procs.all.n; i++) {
        pid_t pid = procs.all.v[i].pid;
        if (is_git(pid) && (waits_for_fifo(pid, ret_path) || has_endless_device(pid, ret_path)))
            return true;
    }
    return false;
}

#else

bool stuck_find(pid_t group, struct buf *ret_path)
{
    (void)group;
    (void)ret_path;
    return false;
}

#endif

enum { FOLDERS_MAX = 8 };

static char *folders[FOLDERS_MAX]; /* we may remove FIFOs and devices below these */

void stuck_remove_below(const char *folder)
{
    int i = 0;
    while (i < FOLDERS_MAX && folders[i] && strcmp(folders[i], folder) != 0)
        i++;
    if (i < FOLDERS_MAX && !folders[i])
        folders[i] = mem_str(folder);
}

static bool is_below(const char *path, const char *folder)
{
    autofree char *real = realpath(folder, NULL);
    return real && str_is_in(path, real);
}

/* Compares the real folder of the file, after following links. */
static bool remove_endless(const char *path)
{
    const char *name = str_last_part(path);
    autofree char *parent = name > path ? mem_dup(path, (size_t)(name - path)) : mem_str(".");
    autofree char *real = realpath(parent, NULL);
    autoclose int at = real ? open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    struct stat st;
    bool may = false;
    for (int i = 0; at >= 0 && i < FOLDERS_MAX && folders[i]; i++)
        may = may || is_below(real, folders[i]);
    return may && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode) && unlinkat(at, name, 0) == 0;
}

static const char removed_message[] = " without an end; we removed it: ";

bool stuck_is_removed(const char *words)
{
    return strstr(words, removed_message);
}

static bool found_before;

int stuck_look_ms(void)
{
    return found_before ? 50 : 1000;
}

int stuck_check(pid_t group, struct err *err)
{
    autobuf struct buf path = BUF_INIT, command = BUF_INIT;
    if (!stuck_find(group, &path))
        return 0;
    found_before = true;
    shell_quote(&command, "rm", path.s, NULL);
    const char *kind = is_fifo(path.s) ? "waited for a FIFO" : "read a device";
    if (remove_endless(path.s))
        (void)err_set(err, ERR_ENV, "git %s%s'%s'", kind, removed_message, path.s);
    else
        (void)err_set(err, ERR_ENV, "git %s without an end; to remove it: %s", kind, command.s);
    if (err)
        err->errnum = EDEADLK;
    return -1;
}
