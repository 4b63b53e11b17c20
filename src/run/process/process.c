#include "run/process/process.h"

#include "agent/engine/env.h"
#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "doc/doc.h"
#include "git/fence.h"
#include "run/attempt/attempt.h"
#include "run/attempt/attempt_dir.h"
#include "run/attempt/feedback.h"
#include "run/land/clean_tree.h"
#include "run/prepare/prepare.h"
#include "run/process/output_limits.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/watch/watch.h"
#include "sys/fs/file.h"
#include "sys/guard/guard_args.h"
#include "sys/guard/leftover_processes.h"
#include "sys/guard/warden.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/time_limits.h"
#include "workspace/workspace_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 5000 };

void process_done(struct process *p)
{
    watch_free(p->watch);
    watch_free(p->last_resort);
    stuck_watch_free(p->stuck);
    output_watch_free(p->flood);
    own_close(&p->lifeline);
    own_close(&p->status);
    *p = (struct process){.lifeline = -1, .status = -1};
}

/* A git is either done in no time or hangs in a filter, so we kill it instead of asking it to stop.
 * Its group is its own until we reap it. */
static void signal_group(pid_t group, char order)
{
    static const struct {
        char order;
        int signal;
    } signals[] = {{GUARD_KILL, SIGKILL}, {GUARD_PAUSE, SIGSTOP}, {GUARD_CONTINUE, SIGCONT}};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        if (signals[i].order == order)
            (void)kill(-group, signals[i].signal);
    }
}

/* Somebody has frozen the guard. sweep_tree() finds its processes by their marks. */
static void kill_guard(void *ctx)
{
    struct attempt *attempt = ctx;
    (void)kill(attempt->process.pid, SIGKILL);
}

/* Outside a namespace the agent can see its guard, and may have stopped it. */
static void wake_guard(struct attempt *attempt, char order)
{
    struct process *p = &attempt->process;
    (void)kill(p->pid, SIGCONT);
    if (!p->last_resort && (order == GUARD_STOP || order == GUARD_KILL))
        p->last_resort = loop_timer(attempt->run->loop, GRACE_MS + time_limit(GUARD_PATIENCE),
                                    kill_guard, attempt);
}

void process_order(struct attempt *attempt, char order)
{
    struct process *p = &attempt->process;
    if (p->watch && !p->guarded)
        signal_group(p->pid, order);
    /* A dead guard reads no orders; we will be notified of its end. */
    if (p->lifeline >= 0 && write(p->lifeline, &order, 1) < 0)
        (void)close(steal_fd(&p->lifeline));
    if (p->watch && p->guarded)
        wake_guard(attempt, order);
}

static void set_exit_code(struct attempt *attempt, int status)
{
    attempt->command.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    attempt->command.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_end(void *ctx, int status)
{
    struct attempt *attempt = ctx;
    set_exit_code(attempt, status);
    process_done(&attempt->process);
    attempt->command.next(attempt, attempt->command.exit_code);
}

static void watch_process(struct attempt *attempt, pid_t pid, child_fn *fn,
                          void (*next)(struct attempt *, int))
{
    attempt->command.next = next;
    attempt->staged.scan_is_valid = false;
    attempt->command.guard_lost = false;
    *attempt->command.exceeded_limit = '\0';
    free(attempt->command.unkillable);
    attempt->command.unkillable = NULL;
    attempt->process.pid = pid;
    attempt->process.watch = loop_child(attempt->run->loop, pid, fn, attempt);
}

static int open_log(const char *path, struct err *err)
{
    int fd = -1;
    (void)file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &fd, err);
    return fd;
}

/* Opens the folder for a process of the attempt: the workspace or a folder below it. We use its
 * descriptor, because the path may lead elsewhere by now. */
static int open_folder(const struct attempt *attempt, const char *dir, int *ret_fd, struct err *err)
{
    const struct workspace_hold *hold = attempt->ws.hold;
    if (attempt->landing.clean_tree)
        return clean_tree_open(attempt, dir, ret_fd, err);
    if (!hold || hold->tree < 0 || !attempt->ws.path)
        return 0;
    size_t len = strlen(attempt->ws.path);
    if (dir && (strncmp(dir, attempt->ws.path, len) != 0 || (dir[len] && dir[len] != '/')))
        return 0;
    const char *below = dir && dir[len] ? dir + len + 1 : "";
    *ret_fd = beneath_at(hold->tree, below);
    return *ret_fd < 0 ? err_sys(err, "open '%s'", dir ? dir : attempt->ws.path) : 0;
}

static bool is_replaced(const struct attempt *attempt, struct buf *ret_words)
{
    return attempt->ws.hold && (workspace_is_replaced(&attempt->ws, ret_words) ||
                                workspace_has_mount(&attempt->ws, ret_words));
}

/* Fails if something else has replaced the workspace or a part of it. */
static int check_workspace(const struct attempt *attempt, struct err *err)
{
    autobuf struct buf words = BUF_INIT;
    return is_replaced(attempt, &words) ? err_set(err, ERR_ENV, "%s", words.s) : 0;
}

extern char **environ;

/* If we die, nobody needs a process that fills or clears a workspace: the warden ends it at once.
 */
static void add_warden_mark(char *const *env, struct strv *ret)
{
    for (char *const *entry = env ? env : environ; *entry; entry++)
        strv_push(ret, *entry);
    strv_push(ret, WARDEN_MARK);
}

int process_start(struct attempt *attempt, char *const *argv, char *const *env, const char *dir,
                  const char *log, void (*next)(struct attempt *, int), struct err *err)
{
    autoclose int folder = -1;
    if ((!dir && check_workspace(attempt, err)) ||
        ((!dir || attempt->landing.clean_tree) && open_folder(attempt, dir, &folder, err)))
        return -1;
    autoclose int fd = open_log(log, err);
    autostrv struct strv marked = {0};
    add_warden_mark(env, &marked);
    struct fence fence;
    struct spawn sp = {.argv = argv,
                       .env = marked.v,
                       .dir = dir ? dir : attempt->ws.path,
                       .folder = folder >= 0 ? &folder : NULL,
                       .fence = folder >= 0 ? git_fence(attempt->ws.common, &folder, &fence) : NULL,
                       .fds = {SPAWN_NULL, fd, fd, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true}; /* a ^C at the terminal must not reach it */
    pid_t pid;
    if (fd < 0 || spawn_start(&sp, &pid, err))
        return -1;
    watch_process(attempt, pid, on_end, next);
    attempt->process.stuck = stuck_watch_new(attempt->run->loop, pid, log);
    return 0;
}

bool process_lost_race(struct attempt *attempt, int exit_code)
{
    autobuf struct buf words = BUF_INIT;
    if (!git_may_have_raced(exit_code, attempt->stopped, attempt->prepare.races))
        return false;
    attempt_read_tail(attempt, "prepare.log", &words);
    attempt->prepare.races++;
    return git_is_race(words.s);
}

static void record_swept(struct attempt *attempt, const struct node *names, int64_t count)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    node_put_int(&a, data, "count", count);
    struct node *list = node_put_list(&a, data, "processes");
    node_each (name, names)
        node_add_string(&a, list, name->text);
    record(attempt->run, EV_TASK_SWEPT, attempt->task, data);
    arena_done(&a);
}

static void load_status(struct attempt *attempt, const struct node *status)
{
    const struct node *swept = node_get(status, "swept");
    attempt->command.exit_signal = (int)node_get_int(status, "signal", 0);
    attempt->command.exit_code =
        (int)node_get_int(status, "exit", 128 + attempt->command.exit_signal);
    (void)snprintf(attempt->command.exceeded_limit, sizeof(attempt->command.exceeded_limit), "%s",
                   node_get_string(status, "limit", ""));
    const char *stuck = node_get_string(status, "stuck", NULL);
    attempt->command.unkillable = stuck ? mem_str(stuck) : NULL;
    if (swept)
        record_swept(attempt, swept, node_get_int(status, "left", (int64_t)swept->n));
}

/* Reads the line that the guard writes before it ends. Without that line, something killed the
 * guard. */
static bool read_status(struct attempt *attempt)
{
    autobuf struct buf line = BUF_INIT;
    char bytes[4096];
    for (ssize_t n; (n = read(attempt->process.status, bytes, sizeof(bytes))) > 0;)
        buf_add(&line, bytes, (size_t)n);
    struct arena a = {0};
    const struct node *said = doc_read_line(&a, line.s, line.len);
    if (said)
        load_status(attempt, said);
    arena_done(&a);
    return said;
}

/* The guard is dead. In a namespace its processes die with it; otherwise we find and end them. */
static void sweep_tree(struct attempt *attempt)
{
    autostrv struct strv names = {0};
    struct arena a = {0};
    struct err err = {0};
    struct node *map = node_new_map(&a), *list = node_put_list(&a, map, "names");
    if (leftover_processes_end_guard(attempt->run->id, attempt->process.pid, attempt->process.mark,
                                     &names, &err))
        record_error(attempt->run, attempt->task, &err);
    for (size_t i = 0; i < names.n; i++)
        node_add_string(&a, list, names.v[i]);
    if (names.n)
        record_swept(attempt, list, (int64_t)names.n);
    arena_done(&a);
}

static void on_guard_end(void *ctx, int status)
{
    struct attempt *attempt = ctx;
    if (!read_status(attempt)) {
        set_exit_code(attempt, status);
        attempt->command.guard_lost = WIFSIGNALED(status) || attempt->command.exit_code == 0;
    }
    if (attempt->command.guard_lost)
        sweep_tree(attempt);
    attempt_dir_check(attempt);
    clean_tree_check(attempt);
    output_watch_end(attempt->process.flood);
    attempt->process.flood = NULL;
    process_done(&attempt->process);
    if (attempt->has_workspace)
        workspace_unclog(&attempt->ws);
    repo_watch_leave(attempt);
    attempt->command.next(attempt, attempt->command.exit_code);
}

struct process_end process_describe_end(const struct attempt *attempt, struct buf *words)
{
    bool replaced = is_replaced(attempt, words);
    return (struct process_end){
        .stopped = attempt->stopped,
        .exit_code = attempt->command.exit_code,
        .exit_signal = attempt->command.exit_signal,
        .replaced = attempt->dir_error ? attempt->dir_error
                    : replaced         ? words->s
                                       : NULL,
        .printed_too_much = attempt->command.printed_too_much,
        .guard_lost = attempt->command.guard_lost,
        .unkillable = attempt->command.unkillable,
        .exceeded_limit = *attempt->command.exceeded_limit ? attempt->command.exceeded_limit : NULL,
        .limits = output_limits_of(attempt),
    };
}

/* Adds a mark to the environment that no other guard of this run has. */
static void add_guard_mark(struct attempt *attempt, const struct strv *env, struct strv *ret)
{
    static const char name[] = GUARD_MARK "=";
    (void)snprintf(attempt->process.mark, sizeof(attempt->process.mark), "%d.%zu", (int)getpid(),
                   ++attempt->run->guard.count);
    for (size_t i = 0; i < env->n; i++) {
        if (strncmp(env->v[i], name, strlen(name)) != 0) /* from an outer run that started us */
            strv_push(ret, env->v[i]);
    }
    strv_pushf(ret, "%s%s", name, attempt->process.mark);
}

/* A task's command sees the folder of its task with all attempts: an agent that resumes a session
 * remembers files in its old TMPDIR. It sees nothing else of our folder: neither other tasks nor
 * the keys that steer a run. */
static struct hiding hide_others(const struct attempt *attempt, const struct agent_call *call,
                                 char **ret_own)
{
    if (call->is_ours)
        return (struct hiding){0};
    *ret_own = mem_dup(attempt->dir, (size_t)(strrchr(attempt->dir, '/') - attempt->dir));
    return (struct hiding){
        .folder = attempt->run->files.state, .open = *ret_own, .shown = call->shown};
}

static int start_guard(struct attempt *attempt, const struct agent_call *call, int fds[SPAWN_FDS],
                       pid_t *ret_pid, struct err *err)
{
    autoclose int folder = -1;
    if (open_folder(attempt, call->dir, &folder, err))
        return -1;
    autostrv struct strv argv = {0}, env = {0};
    autofree char *file = attempt_file(attempt, "guard"), *own = NULL;
    struct task_limits limits = output_limits_of(attempt);
    struct guard_options opts = {
        .interrupt_signal = call->interrupt_signal,
        .grace = GRACE_MS,
        .contain = attempt->run->guard.contain,
        .limits = {limits.memory, limits.processes, (double)limits.cpu},
        .hiding = hide_others(attempt, call, &own),
        .file = file,
        .argv = call->argv.v,
    };
    strv_push(&argv, attempt->run->guard.path ? attempt->run->guard.path : attempt->run->opts.self);
    if (!attempt->run->guard.path)
        strv_push(&argv, "__guard");
    guard_args_format(&opts, &argv);
    add_guard_mark(attempt, &call->env, &env);
    env_set(&env, "PWD", "%s", call->dir); /* some programs trust it more than getcwd() */
    struct spawn sp = {.argv = argv.v,
                       .env = env.v,
                       .dir = call->dir,
                       .folder = folder >= 0 ? &folder : NULL,
                       .new_session = true};
    memcpy(sp.fds, fds, sizeof(sp.fds));
    return spawn_start(&sp, ret_pid, err);
}

int process_start_guarded(struct attempt *attempt, const struct agent_call *call,
                          const char *in_path, const char *out_path, const char *err_path,
                          void (*next)(struct attempt *, int), struct err *err)
{
    int life[2] = {-1, -1}, status[2] = {-1, -1};
    autoclose int out = open_log(out_path, err);
    autoclose int errfd = out < 0 ? -1 : open_log(err_path, err);
    autoclose int in = SPAWN_NULL;
    if (out < 0 || errfd < 0 ||
        (in_path && file_open(AT_FDCWD, in_path, O_RDONLY | O_NOFOLLOW, &in, err)))
        return -1;
    if (spawn_pipe(life, err))
        return -1;
    int rc = spawn_pipe(status, err);
    if (rc == 0 &&
        fcntl(status[0], F_SETFL, O_NONBLOCK) < 0) /* we read after the writer has ended */
        rc = err_sys(err, "fcntl");
    int fds[SPAWN_FDS] = {in, out, errfd, life[0], status[1]};
    const struct output_sizes sizes = output_sizes_of(out, errfd);
    pid_t pid;
    repo_watch_enter(attempt);
    if (rc == 0)
        rc = start_guard(attempt, call, fds, &pid, err);
    own_close(&life[0]);
    own_close(&status[1]);
    if (rc) {
        own_close(&life[1]);
        own_close(&status[0]);
        return -1;
    }
    attempt->process.guarded = true;
    attempt->process.lifeline = life[1];
    attempt->process.status = status[0];
    watch_process(attempt, pid, on_guard_end, next);
    attempt->process.flood = output_watch_watch(attempt, steal_fd(&out), steal_fd(&errfd), sizes);
    if (attempt->stopped &&
        !attempt->prepare.tearing_down) /* we stopped it because the store failed when it started */
        process_order(attempt, GUARD_STOP);
    return 0;
}
