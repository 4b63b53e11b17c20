#include "sys/guard/proc_table.h"

#include "base/own.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"

#include <dirent.h>
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

/* Places of fields in /proc/PID/stat, from 1, as proc(5) counts them. */
enum { STAT_PARENT = 4, STAT_GROUP, STAT_FLAGS = 9, STAT_START = 22, STAT_PENDING = 31 };

/* The folder that tells of processes: a /proc of another pid namespace, or -1: our own. */
static int world = -1;

struct entry {
    pid_t pid, parent, group;
    char state;
    bool ends;   /* by itself, or because it is being killed */
    bool kernel; /* a thread of the kernel's own, which is no program */
    int64_t start;
};

void proc_table_done(struct proc_table *procs)
{
    vec_done(&procs->all);
}

void proc_table_look_into(int proc)
{
    world = proc;
}

int proc_table_open(pid_t pid, const char *name, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s%d/%s", world < 0 ? "/proc/" : "", (int)pid, name);
    return openat(world, path, flags | O_RDONLY | O_CLOEXEC);
}

/* /proc/PID/stat: the name, in brackets, may hold anything, so its end is the last bracket. */
static bool read_stat(pid_t pid, struct entry *ret)
{
    char text[1024];
    autoclose int fd = proc_table_open(pid, "stat", 0);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *rest = strrchr(text, ')');
    if (!rest || strlen(rest) < 4)
        return false;
    enum { EXITING = 4, KERNEL = 0x200000 }; /* in the flags that Linux shows */
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

/* In a namespace that we look into from outside it is the init that does not count. */
static bool is_us(pid_t pid)
{
    return pid == (world < 0 ? getpid() : 1);
}

bool proc_table_lives(const struct proc_id *id)
{
    struct entry e;
    return read_stat(id->pid, &e) && e.start == id->start && !has_ended(&e) && !e.ends;
}

static void add(struct proc_table *procs, const struct entry *e)
{
    if (!has_ended(e) && !is_us(e->pid))
        vec_push(&procs->all, (struct proc_id){e->pid, e->start});
}

/* --- all of them -------------------------------------------------------------------------- */

struct table {
    VEC(struct entry) all;
};

static int by_pid(const void *a, const void *b)
{
    pid_t pa = ((const struct entry *)a)->pid, pb = ((const struct entry *)b)->pid;
    return pa < pb ? -1 : pa > pb;
}

static DIR *open_world(void)
{
    if (world < 0)
        return opendir("/proc");
    autoclose int fd = openat(world, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir)
        (void)steal_fd(&fd);
    return dir;
}

static void read_table(struct table *t)
{
    DIR *dir = open_world();
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

static const struct entry *find(const struct table *t, pid_t pid)
{
    struct entry key = {.pid = pid};
    return t->all.n ? bsearch(&key, t->all.v, t->all.n, sizeof(key), by_pid) : NULL;
}

typedef bool wanted_fn(const struct table *t, const struct entry *e, pid_t pid);

static void collect(struct proc_table *procs, wanted_fn *wanted, pid_t pid)
{
    struct table t = {0};
    read_table(&t);
    for (size_t i = 0; i < t.all.n; i++) {
        if (wanted(&t, &t.all.v[i], pid))
            add(procs, &t.all.v[i]);
    }
    vec_done(&t.all);
}

/* Whether the way up from a process leads to root; it is cut where the table changed under us. */
static bool descends(const struct table *t, const struct entry *e, pid_t root)
{
    for (size_t steps = 0; e && steps <= t->all.n; steps++) {
        if (e->parent == root)
            return true;
        e = find(t, e->parent);
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
    collect(procs, descends, root);
}

void proc_table_in_group(struct proc_table *procs, pid_t group)
{
    collect(procs, is_in_group, group);
}

void proc_table_everyone(struct proc_table *procs)
{
    collect(procs, is_anyone, 0);
}

/* --- one of them -------------------------------------------------------------------------- */

static void read_proc_file(pid_t pid, const char *name, size_t max, struct buf *out)
{
    char bytes[4096];
    autoclose int fd = proc_table_open(pid, name, 0);
    for (ssize_t n; fd >= 0 && out->len < max && (n = read(fd, bytes, sizeof(bytes))) > 0;)
        buf_add(out, bytes, (size_t)n);
}

static bool is_in(pid_t pid, const char *folder)
{
    char path[64], at[4096];
    size_t len = strlen(folder);
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
    ssize_t n = readlink(path, at, sizeof(at) - 1);
    if (n < 0 || (size_t)n < len)
        return false;
    at[n] = '\0';
    return strncmp(at, folder, len) == 0 && (!at[len] || at[len] == '/');
}

pid_t proc_table_in(const char *folder)
{
    struct table t = {0};
    pid_t found = 0;
    read_table(&t);
    for (size_t i = 0; !found && i < t.all.n; i++)
        found = is_in(t.all.v[i].pid, folder) ? t.all.v[i].pid : 0;
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

/* Who is just becoming another program has neither an environment nor a command line. On a loaded
 * machine that may take long. */
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
    if (!ret->len) /* it may have become the other one between the two looks */
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

/* Entries end with a NUL each, and so does what buf holds. */
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

static bool has(const struct proc_table *procs, pid_t pid)
{
    for (size_t i = 0; i < procs->all.n; i++) {
        if (procs->all.v[i].pid == pid)
            return true;
    }
    return false;
}

static void lookup_for_marked(struct proc_table *procs, const char *const *marks,
                              struct table *ret_seen)
{
    read_table(ret_seen);
    const struct entry *us = find(ret_seen, getpid());
    for (size_t i = ret_seen->all.n; i-- > 0;) {
        const struct entry *e = &ret_seen->all.v[i];
        bool above = e == us || (us && descends(ret_seen, us, e->pid));
        if (!has_ended(e) && !above && !has(procs, e->pid) && has_marks(e, marks))
            add(procs, e);
    }
}

/* Only at new ones, for nobody gets a mark later; and at the newest first, which may be the first
 * to end. No pid is given a second time so soon. */
static void lookup_at_new(struct proc_table *procs, const char *const *marks, struct table *seen)
{
    VEC(pid_t) pids = {0};
    DIR *dir = open_world();
    for (struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
        if (pid > 0 && !find(seen, pid))
            vec_push(&pids, pid);
    }
    if (dir)
        (void)closedir(dir);
    for (size_t i = pids.n; i-- > 0;) {
        struct entry e;
        if (!read_stat(pids.v[i], &e))
            continue;
        if (!has_ended(&e) && has_marks(&e, marks))
            add(procs, &e);
        vec_push(&seen->all, e);
    }
    vec_done(&pids);
    if (seen->all.n)
        qsort(seen->all.v, seen->all.n, sizeof(*seen->all.v), by_pid);
}

/* The pid that was given last, in a row of numbers; empty where the system does not tell. */
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

/* One that starts the next and ends while we look is not seen, nor is the next. So a look that
 * finds nothing counts if nobody was started meanwhile, or if many have found nothing. */
void proc_table_marked(struct proc_table *procs, const char *const *marks)
{
    enum { LOOKS = 50 };
    autobuf struct buf before = BUF_INIT, after = BUF_INIT;
    struct table seen = {0};
    size_t known = procs->all.n;
    read_last_pid(&before);
    lookup_for_marked(procs, marks, &seen);
    read_last_pid(&after);
    for (int i = 0; i < LOOKS && procs->all.n == known && strcmp(before.s, after.s) != 0; i++) {
        read_last_pid(&before);
        lookup_at_new(procs, marks, &seen);
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

/* --- programs in a folder ----------------------------------------------------------------- */

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
    struct stat own, other;
    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* The same where the system says no more of it than its name. */
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
        e = find(t, e->parent);
    }
    return false;
}

/* One of our user's of which the system does not say where it is: we are in a user namespace, and
 * it is not. */
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
    return is_in(e->pid, folder)
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
        found = !has_ended(e) && is_called(e->pid, name) && !descends(&t, e, getpid()) &&
                may_be_in(&t, e, folder, variable);
    }
    vec_done(&t.all);
    return found;
}

static bool is_below_any(const char *path, const struct strv *folders)
{
    for (size_t i = 0; i < folders->n; i++) {
        size_t len = strlen(folders->v[i]);
        if (strncmp(path, folders->v[i], len) == 0 && (!path[len] || path[len] == '/'))
            return true;
    }
    return false;
}

/* Whether the name of a git folder may lead to one of these; a relative one may. */
static bool may_lead_to(const char *path, const struct strv *folders)
{
    if (path[0] != '/')
        return true;
    autofree char *real = realpath(path, NULL);
    return !real || is_below_any(real, folders);
}

/* Whether one of these strings, each with a NUL behind it, names a git folder like that: NAME=PATH,
 * or NAME and PATH. */
static bool dir_names_folder(const struct buf *strings, const char *name,
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

/* One that was started with the git folder named may be anywhere. */
static bool dir_names_git_dir(pid_t pid, const struct strv *folders)
{
    autobuf struct buf line = BUF_INIT, environment = BUF_INIT;
    read_proc_file(pid, "cmdline", ENVIRONMENT_MAX, &line);
    read_proc_file(pid, "environ", ENVIRONMENT_MAX, &environment);
    return dir_names_folder(&environment, "GIT_DIR", folders) ||
           dir_names_folder(&line, "--git-dir", folders);
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
    return dir_names_git_dir(e->pid, folders);
}

bool proc_table_programs_in(struct proc_table *procs, const char *name, const struct strv *folders,
                            const char *variable)
{
    struct table t = {0};
    read_table(&t);
    bool tells = t.all.n > 0;
    for (size_t i = 0; i < t.all.n; i++) {
        const struct entry *e = &t.all.v[i];
        if (!has_ended(e) && is_called(e->pid, name) && !descends(&t, e, getpid()) &&
            may_be_in_any(&t, e, folders, variable))
            add(procs, e);
    }
    vec_done(&t.all);
    return tells;
}

/* --- signals ------------------------------------------------------------------------------ */

#ifdef SYS_pidfd_send_signal
/* A folder of /proc is a handle as well, and one that other namespaces' processes have. */
static int open_handle(pid_t pid)
{
    return world < 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : proc_table_open(pid, "", O_DIRECTORY);
}
#endif

/* Whoever has the pid once the handle is open keeps it as long as the handle is: so the start time
 * is looked at in between. */
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
    return world < 0 && proc_table_start(id->pid) == id->start && kill(id->pid, signal) == 0;
}
