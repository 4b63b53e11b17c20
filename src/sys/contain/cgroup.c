#include "sys/contain/cgroup.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, REMOVE_TRIES = 50, CPU_PERIOD = 100000 };

/* Returns the next word of a line, ended with a NUL, or NULL. */
static char *next_word(char **line)
{
    char *word;
    while ((word = strsep(line, " ")) && !*word)
        ;
    return word;
}

/* Parses a line of /proc/self/mountinfo: "36 35 98:0 /root /point options [more...] - type ...". */
static bool parse_mount(char *line, const char **ret_root, const char **ret_point)
{
    char *separator = strstr(line, " - cgroup2 ");
    if (!separator)
        return false;
    *separator = '\0';
    for (int i = 0; i < 3; i++)
        (void)next_word(&line);
    *ret_root = next_word(&line);
    *ret_point = next_word(&line);
    return *ret_root && *ret_point;
}

/* Finds the line "0::/path" of /proc/self/cgroup. */
static char *find_own_path(struct buf *text)
{
    for (char *next = text->s, *line; (line = strsep(&next, "\n"));) {
        if (strncmp(line, "0::", 3) == 0)
            return line + 3;
    }
    return NULL;
}

int cgroup_place(struct buf *out, struct err *err)
{
    autobuf struct buf mounts = BUF_INIT, groups = BUF_INIT;
    if (file_read("/proc/self/mountinfo", FILE_MAX, &mounts, err) ||
        file_read("/proc/self/cgroup", FILE_MAX, &groups, err))
        return -1;
    const char *root = NULL, *point = NULL, *own = find_own_path(&groups);
    for (char *next = mounts.s, *line; !point && (line = strsep(&next, "\n"));)
        (void)parse_mount(line, &root, &point);
    if (!own || !point)
        return err_set(err, ERR_ENV, "there is no cgroup v2 here");
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(own, root, len) != 0)
        return err_set(err, ERR_ENV, "our cgroup is not below '%s'", point);
    own += len;
    buf_addf(out, "%s%s", point, strcmp(own, "/") == 0 ? "" : own);
    return 0;
}

static int write_control(const struct cgroup *cg, const char *name, const char *text,
                         struct err *err)
{
    autoclose int fd = openat(cg->fd, name, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        return err_sys(err, "write '%s/%s'", cg->dir, name);
    return 0;
}

/* Reads a number from a file with lines "key number"; 0 if the key is missing. */
static int64_t read_event(const struct cgroup *cg, const char *name, const char *key)
{
    autofree char *path = mem_printf("%s/%s", cg->dir, name);
    autobuf struct buf text = BUF_INIT;
    size_t len = strlen(key);
    if (file_read(path, FILE_MAX, &text, NULL))
        return 0;
    for (char *next = text.s, *line; (line = strsep(&next, "\n"));) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return strtoll(line + len, NULL, 10);
    }
    return 0;
}

int cgroup_make(struct cgroup *cg, const char *place, const char *run, pid_t pid, struct err *err)
{
    *cg = (struct cgroup)CGROUP_INIT;
    cg->dir = mem_printf("%s/anabranch-%s-%d", place, run, (int)pid);
    if (mkdir(cg->dir, 0755) < 0 && errno != EEXIST) {
        (void)err_sys(err, "make '%s'", cg->dir);
        free(steal_ptr(cg->dir));
        return -1;
    }
    cg->fd = open(cg->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cg->fd < 0 || faccessat(cg->fd, "cgroup.kill", W_OK, 0) < 0) {
        (void)err_sys(err, "end all in '%s'", cg->dir);
        cgroup_remove(cg);
        return -1;
    }
    return 0;
}

/* The last process may need a moment to leave the group, so we retry. */
static void remove_folder(const char *dir)
{
    for (int i = 0; rmdir(dir) < 0 && errno == EBUSY && i < REMOVE_TRIES; i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        (void)nanosleep(&pause, NULL);
    }
}

void cgroup_remove(struct cgroup *cg)
{
    if (cg->dir)
        remove_folder(cg->dir);
    own_close(&cg->fd);
    free(cg->dir);
    *cg = (struct cgroup)CGROUP_INIT;
}

int cgroup_kill(const struct cgroup *cg, struct err *err)
{
    return write_control(cg, "cgroup.kill", "1", err);
}

int cgroup_freeze(const struct cgroup *cg, bool frozen, struct err *err)
{
    return write_control(cg, "cgroup.freeze", frozen ? "1" : "0", err);
}

void cgroup_sweep(const char *place, const char *run, pid_t pid)
{
    autofree char *prefix =
        pid ? mem_printf("anabranch-%s-%d", run, (int)pid) : mem_printf("anabranch-%s-", run);
    autodir DIR *dir = opendir(place);
    for (struct dirent *d; (d = dir_next(dir));) {
        bool ours =
            pid ? strcmp(d->d_name, prefix) == 0 : strncmp(d->d_name, prefix, strlen(prefix)) == 0;
        struct cgroup cg = {.dir = ours ? mem_printf("%s/%s", place, d->d_name) : NULL, .fd = -1};
        cg.fd = ours ? open(cg.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (cg.fd >= 0)
            (void)cgroup_kill(&cg, NULL);
        cgroup_remove(&cg);
    }
}

bool cgroup_limit(const struct cgroup *cg, int64_t memory, int64_t processes, double cpu)
{
    char number[64];
    bool all = true;
    if (memory) {
        (void)snprintf(number, sizeof(number), "%lld", (long long)memory);
        all = write_control(cg, "memory.max", number, NULL) == 0;
        (void)write_control(cg, "memory.swap.max", "0", NULL); /* the kernel may not count swap */
        (void)write_control(cg, "memory.oom.group", "1", NULL);
    }
    if (processes) {
        (void)snprintf(number, sizeof(number), "%lld", (long long)processes);
        all = write_control(cg, "pids.max", number, NULL) == 0 && all;
    }
    if (cpu > 0) {
        (void)snprintf(number, sizeof(number), "%lld %d", (long long)(cpu * CPU_PERIOD),
                       CPU_PERIOD);
        all = write_control(cg, "cpu.max", number, NULL) == 0 && all;
    }
    return all;
}

bool cgroup_ran_out_of_memory(const struct cgroup *cg)
{
    return cg->dir && (read_event(cg, "memory.events", "oom_kill") > 0 ||
                       read_event(cg, "memory.events", "oom_group_kill") > 0);
}

bool cgroup_ran_out_of_processes(const struct cgroup *cg)
{
    return cg->dir && read_event(cg, "pids.events", "max") > 0;
}
