#include "sys/guard/proc_table.h"

#include "base/own.h"
#include "base/text/str.h"
#include "sys/fs/file.h"
#include "sys/own_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ENVIRONMENT_MAX = 4 << 20 };

/* Numbers of fields in /proc/PID/stat, counted from 1 as in proc(5). */
enum { STAT_PARENT = 4, STAT_GROUP, STAT_FLAGS = 9, STAT_START = 22, STAT_PENDING = 31 };

/* The /proc that we read: of another pid namespace, or -1 for our own. */
static int proc_fd = -1;

struct entry {
    pid_t pid, parent, group;
    char state;
    bool ends;   /* it exits or is being killed */
    bool kernel; /* a kernel thread, not a program */
    int64_t start;
};

void proc_table_done(struct proc_table *procs)
{
    vec_done(&procs->all);
}

void proc_table_look_into(int proc)
{
    proc_fd = proc;
}

int proc_table_open(pid_t pid, const char *name, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s%d/%s", proc_fd < 0 ? "/proc/" : "", (int)pid, name);
    return openat(proc_fd, path, flags | O_RDONLY | O_CLOEXEC);
}

bool proc_table_read(pid_t pid, const char *name, char *text, size_t size)
{
    autoclose int fd = proc_table_open(pid, name, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Parses /proc/PID/stat. The name in brackets may contain anything, so it ends at the last
 * bracket. */
static bool read_stat(pid_t pid, struct entry *ret)
{
    char text[1024];
    const char *rest = proc_table_read(pid, "stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
    if (!rest || strlen(rest) < 4)
        return false;
    enum { EXITING = 4, KERNEL = 0x200000 }; /* flags that Linux shows */
    unsigned long long fields[STAT_PENDING + 1];
    char *at = (char *)rest + 3;
    for (int i = STAT_PARENT; i <= STAT_PENDING; i++)
        fields[i] = strtoull(at, &at, 10);
    *ret = (struct entry){.pid = pid,
                          .state = rest[2],
                          .parent = (pid_t)fields[STAT_PARENT],
                          .group = (pid_t)fields[STAT_GROUP],
                          .ends = (fields[STAT_FLAGS] & EXITING) ||
                                  (fields[STAT_PENDING] & 1ULL << (SIGKILL - 1)),
                          .kernel = fields[STAT_FLAGS] & KERNEL,
                          .start = (int64_t)fields[STAT_START]};
    return true;
}

int64_t proc_table_start(pid_t pid)
{
    struct entry e;
    return read_stat(pid, &e) ? e.start : 0;
}

static bool has_ended(const struct entry *e)
{
    return e->state == 'Z' || e->state == 'X';
}

/* If we look into a namespace from outside, its init counts as us. */
static bool is_us(pid_t pid)
{
    return pid == (proc_fd < 0 ? getpid() : 1);
}

bool proc_table_lives(const struct proc_id *id)
{
    struct entry e;
    return read_stat(id->pid, &e) && e.start == id->start && !has_ended(&e) && !e.ends;
}

static void add_process(struct proc_table *procs, const struct entry *e)
{
    if (!has_ended(e) && !is_us(e->pid))
        vec_push(&procs->all, (struct proc_id){e->pid, e->start});
}

struct table {
    VEC(struct entry) all;
};

static int compare_pids(const void *a, const void *b)
{
    pid_t pa = ((const struct entry *)a)->pid, pb = ((const struct entry *)b)->pid;
    return pa < pb ? -1 : pa > pb;
}

static DIR *open_proc(void)
{
    return proc_fd < 0 ? opendir("/proc") : dir_list(proc_fd);
}

static void read_table(struct table *t)
{
    autodir DIR *dir = open_proc();
    for (struct dirent *d; (d = dir_next(dir));) {
        char *end;
        long pid = strtol(d->d_name, &end, 10);
        struct entry e;
        if (pid > 0 && !*end && read_stat((pid_t)pid, &e))
            vec_push(&t->all, e);
    }
    if (t->all.n)
        qsort(t->all.v, t->all.n, sizeof(*t->all.v), compare_pids);
}

static const struct entry *find_entry(const struct table *t, pid_t pid)
{
    struct entry key = {.pid = pid};
    return t->all.n ? bsearch(&key, t->all.v, t->all.n, sizeof(key), compare_pids) : NULL;
}

typedef bool wanted_fn(const struct table *t, const struct entry *e, pid_t pid);

static void collect_wanted(struct proc_table *procs, wanted_fn *wanted, pid_t pid)
{
    struct table t = {0};
    read_table(&t);
    for (size_t i = 0; i < t.all.n; i++) {
        if (wanted(&t, &t.all.v[i], pid))
            add_process(procs, &t.all.v[i]);
    }
    vec_done(&t.all);
}

/* True if root is an ancestor of the process. The chain of parents may be broken if the table
 * changed while we read it. */
static bool is_descendant(const struct table *t, const struct entry *e, pid_t root)
{
    for (size_t steps = 0; e && steps <= t->all.n; steps++) {
        if (e->parent == root)
            return true;
        e = find_entry(t, e->parent);
    }
    return false;
}

static bool is_in_group(const struct table *t, const struct entry *e, pid_t group)
{
    (void)t;
    return e->group == group;
}

static bool is_anyone(const struct table *t, const struct entry *e, pid_t pid)
{
    (void)t, (void)e, (void)pid;
    return true;
}

void proc_table_below(struct proc_table *procs, pid_t root)
{
    collect_wanted(procs, is_descendant, root);
}

void proc_table_in_group(struct proc_table *procs, pid_t group)
{
    collect_wanted(procs, is_in_group, group);
}

void proc_table_everyone(struct proc_table *procs)
{
    collect_wanted(procs, is_anyone, 0);
}

static void read_proc_file(pid_t pid, const char *name, size_t max, struct buf *out)
{
    char bytes[4096];
    autoclose int fd = proc_table_open(pid, name, 0);
    for (ssize_t n; fd >= 0 && out->len < max && (n = read(fd, bytes, sizeof(bytes))) > 0;)
        buf_add(out, bytes, (size_t)n);
}

bool proc_table_is_in(pid_t pid, const char *folder)
{
    char path[64], at[4096];
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    ssize_t n = readlink(path, at, sizeof(at) - 1);
    at[n > 0 ? n : 0] = '\0';
    return n > 0 && str_is_in(at, folder);
}

pid_t proc_table_in(const char *folder)
{
    struct table t = {0};
    pid_t found = 0;
    read_table(&t);
    for (size_t i = 0; !found && i < t.all.n; i++)
        found = proc_table_is_in(t.all.v[i].pid, folder) ? t.all.v[i].pid : 0;
    vec_done(&t.all);
    return found;
}

static bool is_called(pid_t pid, const char *name)
{
    enum { NAME_MAX_ = 32 };
    autobuf struct buf text = BUF_INIT;
    read_proc_file(pid, "comm", NAME_MAX_, &text);
    size_t len = strlen(name);
    return text.len == len + 1 && memcmp(text.s, name, len) == 0;
}

/* In the middle of exec a process has neither an environment nor a command line. On a busy machine
 * that may take long. */
static bool is_between_programs(const struct entry *e)
{
    enum { ENOUGH = 16 };
    autobuf struct buf line = BUF_INIT;
    struct entry now;
    read_proc_file(e->pid, "cmdline", ENOUGH, &line);
    return !line.len && read_stat(e->pid, &now) && now.start == e->start && !has_ended(&now) &&
           !now.ends && !now.kernel;
}

static void read_of_program(const struct entry *e, const char *name, size_t max, struct buf *ret)
{
    enum { TRIES = 500 };
    const struct timespec pause = {.tv_nsec = 200 * 1000};
    read_proc_file(e->pid, name, max, ret);
    for (int i = 0; !ret->len && i < TRIES && is_between_programs(e); i++) {
        (void)nanosleep(&pause, NULL);
        read_proc_file(e->pid, name, max, ret);
    }
    if (!ret->len) /* it may have finished exec after our last read */
        read_proc_file(e->pid, name, max, ret);
}

void proc_table_command(pid_t pid, struct buf *out)
{
    enum { COMMAND_MAX = 200 };
    autobuf struct buf text = BUF_INIT;
    struct entry e;
    if (read_stat(pid, &e))
        read_of_program(&e, "cmdline", COMMAND_MAX, &text);
    buf_cut(&text, text.len < COMMAND_MAX ? text.len : COMMAND_MAX);
    while (text.len && !text.s[text.len - 1])
        buf_cut(&text, text.len - 1);
    if (!text.len)
        buf_addf(out, "process %d", (int)pid);
    for (size_t i = 0; i < text.len; i++)
        buf_addch(out, text.s[i] ? text.s[i] : ' ');
}

void proc_table_arguments(pid_t pid, struct buf *out)
{
    struct entry e;
    if (read_stat(pid, &e))
        read_of_program(&e, "cmdline", ENVIRONMENT_MAX, out);
}

/* Each entry ends with a NUL, and so does the buf. */
static bool has_mark(const struct buf *environment, const char *mark)
{
    for (size_t at = 0; at < environment->len; at += strlen(environment->s + at) + 1) {
        if (strcmp(environment->s + at, mark) == 0)
            return true;
    }
    return false;
}

static bool has_marks(const struct entry *e, const char *const *marks)
{
    autobuf struct buf environment = BUF_INIT;
    read_of_program(e, "environ", ENVIRONMENT_MAX, &environment);
    for (; *marks; marks++) {
        if (!has_mark(&environment, *marks))
            return false;
    }
    return true;
}

static bool is_listed(const struct proc_table *procs, pid_t pid)
{
    for (size_t i = 0; i < procs->all.n; i++) {
        if (procs->all.v[i].pid == pid)
            return true;
    }
    return false;
}

static void search_marked(struct proc_table *procs, const char *const *marks,
                          struct table *ret_seen)
{
    read_table(ret_seen);
    const struct entry *us = find_entry(ret_seen, getpid());
    for (size_t i = ret_seen->all.n; i-- > 0;) {
        const struct entry *e = &ret_seen->all.v[i];
        bool above = e == us || (us && is_descendant(ret_seen, us, e->pid));
        if (!has_ended(e) && !above && !is_listed(procs, e->pid) && has_marks(e, marks))
            add_process(procs, e);
    }
}

/* Checks only processes that are not in `seen`, because a running process never gets a mark later.
 * Begins with the newest, which may end first. The kernel does not reuse a pid that soon. */
static void search_new(struct proc_table *procs, const char *const *marks, struct table *seen)
{
    VEC(pid_t) pids = {0};
    autodir DIR *dir = open_proc();
    for (struct dirent *d; (d = dir_next(dir));) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        if (pid > 0 && !find_entry(seen, pid))
            vec_push(&pids, pid);
    }
    for (size_t i = pids.n; i-- > 0;) {
        struct entry e;
        if (!read_stat(pids.v[i], &e))
            continue;
        if (!has_ended(&e) && has_marks(&e, marks))
            add_process(procs, &e);
        vec_push(&seen->all, e);
    }
    vec_done(&pids);
    if (seen->all.n)
        qsort(seen->all.v, seen->all.n, sizeof(*seen->all.v), compare_pids);
}

/* Reads the last pid that the kernel assigned; empty if the system does not tell. */
static void read_last_pid(struct buf *ret)
{
    char bytes[128];
    autoclose int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);
    bytes[n > 0 ? n : 0] = '\0';
    const char *last = strrchr(bytes, ' ');
    buf_cut(ret, 0);
    buf_addstr(ret, last ? last : "");
}

/* If a process starts another one and ends while we search, we see neither. So we trust an empty
 * result only if no process started meanwhile, or after many searches. */
void proc_table_marked(struct proc_table *procs, const char *const *marks)
{
    enum { LOOKS = 50 };
    autobuf struct buf before = BUF_INIT, after = BUF_INIT;
    struct table seen = {0};
    size_t known = procs->all.n;
    read_last_pid(&before);
    search_marked(procs, marks, &seen);
    read_last_pid(&after);
    for (int i = 0; i < LOOKS && procs->all.n == known && strcmp(before.s, after.s) != 0; i++) {
        read_last_pid(&before);
        search_new(procs, marks, &seen);
        read_last_pid(&after);
    }
    vec_done(&seen.all);
}

void proc_table_end_tracer(pid_t pid)
{
    static const char key[] = "\nTracerPid:";
    enum { STATUS_MAX = 4096 };
    autobuf struct buf text = BUF_INIT;
    read_proc_file(pid, "status", STATUS_MAX, &text);
    const char *at = text.len ? strstr(text.s, key) : NULL;
    pid_t tracer = at ? (pid_t)strtol(at + strlen(key), NULL, 10) : 0;
    struct proc_id id = {tracer, tracer > 0 ? proc_table_start(tracer) : 0};
    if (tracer > 0 && tracer != getpid())
        (void)proc_table_signal(&id, SIGKILL);
}

static bool has_variable(pid_t pid, const char *name)
{
    autobuf struct buf environment = BUF_INIT;
    size_t len = strlen(name);
    read_proc_file(pid, "environ", ENVIRONMENT_MAX, &environment);
    for (size_t at = 0; at < environment.len; at += strlen(environment.s + at) + 1) {
        if (strncmp(environment.s + at, name, len) == 0 && environment.s[at + len] == '=')
            return true;
    }
    return false;
}

static bool is_our_program(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return file_is_same("/proc/self/exe", path);
}

/* Compares only names, for when the system shows nothing more. */
static bool is_namesake(pid_t pid)
{
    enum { NAME_MAX_ = 32 };
    autobuf struct buf own = BUF_INIT, other = BUF_INIT;
    read_proc_file(getpid(), "comm", NAME_MAX_, &own);
    read_proc_file(pid, "comm", NAME_MAX_, &other);
    return own.len && own.len == other.len && memcmp(own.s, other.s, own.len) == 0;
}

static bool is_below(const struct table *t, const struct entry *e, bool (*is_it)(pid_t pid))
{
    for (size_t steps = 0; e && steps <= t->all.n; steps++) {
        if (is_it(e->parent))
            return true;
        e = find_entry(t, e->parent);
    }
    return false;
}

/* True if the process belongs to our user but the system hides its current folder: we are in a user
 * namespace, and it is outside. */
static bool is_hidden(pid_t pid)
{
    char path[64], at[1];
    struct stat st;
    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st) < 0 || st.st_uid != geteuid())
        return false;
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    return readlink(path, at, sizeof(at)) < 0 && (errno == EACCES || errno == EPERM);
}

static bool may_be_in(const struct table *t, const struct entry *e, const char *folder,
                      const char *variable)
{
    return proc_table_is_in(e->pid, folder)
               ? !(has_variable(e->pid, variable) && is_below(t, e, is_our_program))
               : is_hidden(e->pid) && !is_below(t, e, is_namesake);
}

bool proc_table_program_in(const char *name, const char *folder, const char *variable)
{
    struct table t = {0};
    read_table(&t);
    bool found = !t.all.n; /* the system does not tell */
    for (size_t i = 0; !found && i < t.all.n; i++) {
        const struct entry *e = &t.all.v[i];
        found = !has_ended(e) && is_called(e->pid, name) && !is_descendant(&t, e, getpid()) &&
                may_be_in(&t, e, folder, variable);
    }
    vec_done(&t.all);
    return found;
}

static bool is_below_any(const char *path, const struct strv *folders)
{
    for (size_t i = 0; i < folders->n; i++) {
        if (str_is_in(path, folders->v[i]))
            return true;
    }
    return false;
}

/* True if `path` may lead into one of the folders. A relative path always may. */
static bool may_lead_to(const char *path, const struct strv *folders)
{
    if (path[0] != '/')
        return true;
    autofree char *real = realpath(path, NULL);
    return !real || is_below_any(real, folders);
}

/* True if one of the NUL-terminated strings names such a git folder: NAME=PATH, or NAME followed by
 * PATH. */
static bool strings_name_folder(const struct buf *strings, const char *name,
                                const struct strv *folders)
{
    size_t len = strlen(name);
    for (size_t at = 0; at < strings->len; at += strlen(strings->s + at) + 1) {
        const char *s = strings->s + at, *value = s + len;
        if (strncmp(s, name, len) != 0 || (*value && *value != '='))
            continue;
        value += at + len + 1 < strings->len;
        if (may_lead_to(value, folders))
            return true;
    }
    return false;
}

/* A git that was given its git folder by name may run anywhere. */
static bool names_git_dir(pid_t pid, const struct strv *folders)
{
    autobuf struct buf line = BUF_INIT, environment = BUF_INIT;
    read_proc_file(pid, "cmdline", ENVIRONMENT_MAX, &line);
    read_proc_file(pid, "environ", ENVIRONMENT_MAX, &environment);
    return strings_name_folder(&environment, "GIT_DIR", folders) ||
           strings_name_folder(&line, "--git-dir", folders);
}

static bool may_be_in_any(const struct table *t, const struct entry *e, const struct strv *folders,
                          const char *variable)
{
    if (has_variable(e->pid, variable) && is_below(t, e, is_our_program))
        return false;
    for (size_t i = 0; i < folders->n; i++) {
        if (may_be_in(t, e, folders->v[i], variable))
            return true;
    }
    return names_git_dir(e->pid, folders);
}

bool proc_table_programs_in(struct proc_table *procs, const char *name, const struct strv *folders,
                            const char *variable)
{
    struct table t = {0};
    read_table(&t);
    bool tells = t.all.n > 0;
    for (size_t i = 0; i < t.all.n; i++) {
        const struct entry *e = &t.all.v[i];
        if (!has_ended(e) && is_called(e->pid, name) && !is_descendant(&t, e, getpid()) &&
            may_be_in_any(&t, e, folders, variable))
            add_process(procs, e);
    }
    vec_done(&t.all);
    return tells;
}

#ifdef SYS_pidfd_send_signal
/* A folder in /proc is a handle too, and the only one for a process in another namespace. */
static int open_handle(pid_t pid)
{
    return proc_fd < 0 ? (int)syscall(SYS_pidfd_open, pid, 0)
                       : proc_table_open(pid, "", O_DIRECTORY);
}
#endif

/* The handle always means the process that had the pid when we opened it. So we check the start
 * time after that. */
bool proc_table_signal(const struct proc_id *id, int signal)
{
#ifdef SYS_pidfd_send_signal
    autoclose int fd = open_handle(id->pid);
    if (fd >= 0) {
        struct entry e;
        return read_stat(id->pid, &e) && e.start == id->start && !has_ended(&e) &&
               syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
    }
    if (errno != ENOSYS && errno != EPERM && errno != EMFILE && errno != ENFILE)
        return false;
#endif
    return proc_fd < 0 && proc_table_start(id->pid) == id->start && kill(id->pid, signal) == 0;
}
