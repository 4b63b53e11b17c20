#include "sys/contain/contain.h"

#include "base/mem.h"
#include "base/own.h"
#include "sys/contain/clone_process.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

const char *const contain_words[] = {"any", "namespace", "cgroup", "subreaper", "group", NULL};

int contain_named(const char *word, enum contain *ret, struct err *err)
{
    for (int i = 0; contain_words[i]; i++) {
        if (strcmp(word, contain_words[i]) == 0) {
            *ret = (enum contain)i;
            return 0;
        }
    }
    return err_set(err, ERR_INPUT,
                   "ANABRANCH_CONTAIN is '%.40s': it must be namespace, cgroup, subreaper or group",
                   word);
}

int contain_wanted(enum contain *ret, struct err *err)
{
    const char *word = getenv("ANABRANCH_CONTAIN");
    *ret = CONTAIN_ANY;
    return word && *word ? contain_named(word, ret, err) : 0;
}

static const char *run_name(void)
{
    const char *run = getenv("ANABRANCH_RUN");
    return run && *run && !strchr(run, '/') ? run : "none";
}

static int make_cgroup(struct container *c, struct err *err)
{
    autobuf struct buf place = BUF_INIT;
    return cgroup_place(&place, err) ? -1
                                     : cgroup_make(&c->cgroup, place.s, run_name(), c->guard, err);
}

/* Orphans of the tree become our children, so we lose none of them. */
static int adopt_orphans(struct err *err)
{
#ifdef __linux__
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? err_sys(err, "become subreaper") : 0;
#else
    return err_set(err, ERR_ENV, "this system has no subreapers");
#endif
}

static int open_namespace(struct container *c, struct err *err)
{
    if (namespace_open(&c->ns, c->hiding, err))
        return -1;
    proc_table_look_into(c->ns.proc);
    return 0;
}

static int open_cgroup(struct container *c, struct err *err)
{
    return adopt_orphans(err) || make_cgroup(c, err) ? -1 : 0;
}

static int open_subreaper(struct container *c, struct err *err)
{
    (void)c;
    return adopt_orphans(err);
}

static int open_group(struct container *c, struct err *err)
{
    (void)c;
    (void)err;
    return 0;
}

static int (*const opens[])(struct container *, struct err *) = {
    [CONTAIN_NAMESPACE] = open_namespace,
    [CONTAIN_CGROUP] = open_cgroup,
    [CONTAIN_SUBREAPER] = open_subreaper,
    [CONTAIN_GROUP] = open_group,
};

static int try_all(struct container *c, struct err *err)
{
    for (c->means = CONTAIN_NAMESPACE; c->means < CONTAIN_GROUP; c->means++) {
        if (opens[c->means](c, err) == 0)
            return 0;
    }
    return opens[c->means](c, err);
}

/* Guards that start one after another have different numbers: the last part of their mark. */
static int own_number(void)
{
    const char *mark = getenv(GUARD_MARK), *point = mark ? strrchr(mark, '.') : NULL;
    return point ? (int)strtol(point + 1, NULL, 10) & 0xffff : getpid();
}

/* Without a cpu controller we restrict the task to as many processors as it may use. Guards that
 * start one after another choose different ones. */
static void limit_processors(double cpu)
{
#ifdef __linux__
    cpu_set_t may, chosen;
    if (sched_getaffinity(0, sizeof(may), &may) < 0)
        return;
    int wanted = (int)cpu + ((double)(int)cpu < cpu), there = CPU_COUNT(&may);
    CPU_ZERO(&chosen);
    for (int i = 0, skip = own_number() % there; i < 2 * CPU_SETSIZE && wanted > 0; i++) {
        int number = i % CPU_SETSIZE;
        if (!CPU_ISSET(number, &may) || skip-- > 0 || CPU_ISSET(number, &chosen))
            continue;
        CPU_SET(number, &chosen);
        wanted--;
    }
    (void)sched_setaffinity(0, sizeof(chosen), &chosen);
#else
    (void)cpu;
#endif
}

/* The guard itself watches the limits that the kernel cannot enforce. */
static void set_limits(struct container *c, const struct limits *limits)
{
    if (!limits->memory && !limits->processes && limits->cpu <= 0)
        return;
    if (!c->cgroup.dir && c->means != CONTAIN_GROUP)
        (void)make_cgroup(c, NULL);
    c->limited =
        c->cgroup.dir && cgroup_limit(&c->cgroup, limits->memory, limits->processes, limits->cpu);
    if (!c->limited && limits->cpu > 0)
        limit_processors(limits->cpu);
}

int container_open(struct container *c, enum contain wanted, const struct limits *limits,
                   const struct hiding *hiding, struct err *err)
{
    *c = (struct container){.means = wanted,
                            .cgroup = CGROUP_INIT,
                            .ns = NAMESPACE_INIT,
                            .hiding = hiding,
                            .guard = getpid()};
    if (wanted == CONTAIN_ANY ? try_all(c, err) : opens[wanted](c, err))
        return -1;
    set_limits(c, limits);
    char mark[24]; /* used if the engine gave us no mark */
    (void)snprintf(mark, sizeof(mark), "%d", (int)c->guard);
    return setenv(GUARD_MARK, mark, 0) < 0 ? err_sys(err, "mark what is started") : 0;
}

/* A process group may still have members that the system does not list. */
void container_close(struct container *c)
{
    if (c->means == CONTAIN_GROUP && c->child > 0) {
        (void)kill(-c->child, SIGKILL);
        (void)waitpid(c->child, NULL, WNOHANG);
    }
    cgroup_remove(&c->cgroup);
    proc_table_look_into(-1);
    namespace_close(&c->ns);
}

struct command {
    const struct container *c;
    char *const *argv;
    int error; /* why it could not be executed */
};

/* Runs the command in a new process, with the same settings as spawn_start(). Returns only if that
 * fails. */
static void exec_command(struct command *cmd)
{
    static const int defaults[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    const struct container *c = cmd->c;
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
        (void)sigaction(defaults[i], &act, NULL);
    if ((c->means != CONTAIN_NAMESPACE || namespace_join(&c->ns)) && setsid() >= 0 &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        (void)execvp(cmd->argv[0], cmd->argv);
    cmd->error = errno;
}

/* A new process that shares our memory leaves its error there. */
static int run_shared(void *arg)
{
    struct command *cmd = arg;
    exec_command(cmd);
    _exit(127);
}

/* execvp() copies the arguments to the stack if the command is a script without a first line. */
static size_t get_stack_size(char *const *argv)
{
    enum { STACK = 128 << 10, PAGE = 4096 };
    size_t n = 0;
    while (argv[n])
        n++;
    return (STACK + n * sizeof(*argv) + PAGE - 1) / PAGE * PAGE;
}

static int start_copy(struct command *cmd, pid_t *ret_child, struct err *err)
{
    const struct container *c = cmd->c;
    struct clone_place place = {.cgroup = c->cgroup.dir ? c->cgroup.fd : -1};
    int ends[2];
    if (spawn_pipe(ends, err))
        return -1;
    autoclose int reader = ends[0], writer = ends[1];
    if (clone_process(&place, ret_child, err))
        return -1;
    if (*ret_child == 0) {
        exec_command(cmd);
        (void)!write(writer, &cmd->error, sizeof(cmd->error));
        _exit(127);
    }
    (void)close(steal_fd(&writer));
    if (read(reader, &cmd->error, sizeof(cmd->error)) != sizeof(cmd->error))
        cmd->error = 0;
    return 0;
}

/* Only a copy of us can be born in a control group. */
static int start_in_place(struct container *c, char *const *argv, struct err *err)
{
    struct command cmd = {.c = c, .argv = argv};
    if ((c->cgroup.dir || clone_to_exec(run_shared, &cmd, get_stack_size(argv), &c->child, NULL)) &&
        start_copy(&cmd, &c->child, err))
        return -1;
    errno = cmd.error;
    return cmd.error ? err_sys(err, "run '%s'", argv[0]) : 0;
}

int container_start(struct container *c, char *const *argv, struct err *err)
{
    struct spawn sp = {.argv = argv, .fds = {0, 1, 2, SPAWN_NONE, SPAWN_NONE}, .new_session = true};
    return c->cgroup.dir || c->means == CONTAIN_NAMESPACE ? start_in_place(c, argv, err)
                                                          : spawn_start(&sp, &c->child, err);
}

/* Finds processes that left the group by the mark that we gave them. */
static void list_marked(struct proc_table *procs)
{
    autofree char *run = mem_printf("ANABRANCH_RUN=%s", run_name());
    autofree char *guard = mem_printf(GUARD_MARK "=%s", getenv(GUARD_MARK));
    const char *const marks[] = {guard, getenv("ANABRANCH_RUN") ? run : NULL, NULL};
    proc_table_marked(procs, marks);
}

void container_list(const struct container *c, struct proc_table *procs)
{
    if (c->means == CONTAIN_NAMESPACE) {
        proc_table_everyone(procs);
    } else if (c->means == CONTAIN_GROUP) {
        proc_table_in_group(procs, c->child);
        list_marked(procs);
    } else {
        proc_table_below(procs, getpid());
    }
}

static void signal_listed(const struct container *c, int signal)
{
    autoprocs struct proc_table all = {0};
    container_list(c, &all);
    for (size_t i = 0; i < all.all.n; i++)
        (void)proc_table_signal(&all.all.v[i], signal);
}

/* Repeats until a list is no longer than the one before: then no process was left that could fork
 * meanwhile. */
static void stop_listed(const struct container *c)
{
    for (size_t before = 0, n;; before = n) {
        autoprocs struct proc_table all = {0};
        container_list(c, &all);
        n = all.all.n;
        for (size_t i = 0; i < n; i++)
            (void)proc_table_signal(&all.all.v[i], SIGSTOP);
        if (n <= before)
            return;
    }
}

/* One write reaches every process in the control group. */
static void signal_cgroup(const struct container *c, int signal)
{
    if (signal == SIGKILL)
        (void)cgroup_kill(&c->cgroup, NULL);
    else if (signal == SIGSTOP || signal == SIGCONT)
        (void)cgroup_freeze(&c->cgroup, signal == SIGSTOP, NULL);
}

void container_signal(const struct container *c, int signal)
{
    if (c->means == CONTAIN_NAMESPACE && signal == SIGKILL) {
        if (c->ns.init)
            (void)kill(c->ns.init, SIGKILL); /* the kernel then kills all others */
        return;
    }
    if (c->means == CONTAIN_CGROUP)
        signal_cgroup(c, signal);
    if (c->means == CONTAIN_GROUP)
        (void)kill(-c->child, signal);
    if (signal == SIGKILL || signal == SIGSTOP)
        stop_listed(c);
    if (signal != SIGSTOP)
        signal_listed(c, signal);
}

static bool peek_child(const struct container *c, bool *ret_ended, int *ret_status)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->child, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return false;
    if (!info.si_pid)
        return true;
    *ret_ended = true;
    *ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status & 0x7f;
    autoprocs struct proc_table all = {0};
    container_list(c, &all);
    return all.all.n > 0;
}

/* Kills the init when no other process is left. */
static bool end_init(struct container *c)
{
    autoprocs struct proc_table all = {0};
    if (!c->ns.init)
        return false;
    container_list(c, &all);
    if (c->child || all.all.n)
        return true;
    (void)kill(c->ns.init, SIGKILL);
    (void)spawn_reap(c->ns.init, NULL, NULL);
    c->ns.init = 0;
    return false;
}

bool container_reap(struct container *c, bool *ret_ended, int *ret_status)
{
    int status;
    pid_t pid;
    if (c->means == CONTAIN_GROUP)
        return peek_child(c, ret_ended, ret_status);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == c->child) {
            *ret_ended = true;
            *ret_status = status;
            c->child = 0;
        } else if (pid == c->ns.init) {
            c->ns.init = 0;
        }
    }
    if (c->means == CONTAIN_NAMESPACE)
        return c->child || end_init(c);
    return pid == 0 || errno != ECHILD;
}
