#include "run/run_private.h"

#include "base/build.h"
#include "data/doc.h"
#include "sys/guard.h"
#include "sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_MS = 10000 };

void process_done(struct process *p)
{
    watch_free(p->watch);
    own_close(&p->lifeline);
    own_close(&p->status);
    *p = (struct process){.lifeline = -1, .status = -1};
}

void process_order(struct process *p, char order)
{
    /* A guard that has gone reads no more orders; its end is on its way to us. */
    if (p->lifeline >= 0 && write(p->lifeline, &order, 1) < 0)
        (void)close(steal_fd(&p->lifeline));
}

static void on_end(void *ctx, int status)
{
    struct job *job = ctx;
    job->exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    job->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    process_done(&job->process);
    job->next(job, job->exit_code);
}

static void begin(struct job *job, pid_t pid, child_fn *fn, void (*next)(struct job *, int))
{
    job->next = next;
    job->process.pid = pid;
    job->process.watch = loop_child(job->run->loop, pid, fn, job);
}

static int open_log(const char *path, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, "open '%s'", path);
    return fd;
}

int process_start(struct job *job, char *const *argv, char *const *env, const char *dir,
                  const char *log, void (*next)(struct job *, int), struct err *err)
{
    autoclose int fd = open_log(log, err);
    struct spawn sp = {.argv = argv,
                       .env = env,
                       .dir = dir,
                       .fds = {SPAWN_NULL, fd, fd, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true}; /* a ^C at the terminal is not for it */
    pid_t pid;
    if (fd < 0 || spawn_start(&sp, &pid, err))
        return -1;
    begin(job, pid, on_end, next);
    return 0;
}

/* --- under guard -------------------------------------------------------------------------- */

/* What the guard wrote before it ended. Without that line the guard itself was killed. */
static bool read_status(struct job *job)
{
    char line[8192];
    ssize_t n = read(job->process.status, line, sizeof(line));
    if (n <= 0)
        return false;
    struct doc doc;
    autoproblems struct problems ps;
    problems_init(&ps, "guard");
    struct doc_options opts = {.syntax = DOC_JSON};
    bool good = doc_parse(&doc, NULL, line, (size_t)n, &opts, &ps) == 0;
    if (good) {
        job->exit_signal = (int)build_int(doc.root, "signal", 0);
        job->exit_code = (int)build_int(doc.root, "exit", 128 + job->exit_signal);
        const struct node *swept = node_get(doc.root, "swept");
        if (swept) {
            struct arena a = {0};
            struct node *data = build_map(&a);
            struct node *list = build_put_list(&a, data, "processes");
            node_each (name, swept)
                build_add_string(&a, list, name->text);
            record(job->run, EV_TASK_SWEPT, job->task, data);
            arena_done(&a);
        }
    }
    doc_done(&doc);
    return good;
}

static void on_guard_end(void *ctx, int status)
{
    struct job *job = ctx;
    if (!read_status(job)) {
        job->exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        job->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    process_done(&job->process);
    job->next(job, job->exit_code);
}

static int start_guard(struct job *job, const struct agent_call *call, int fds[SPAWN_FDS],
                       pid_t *ret_pid, struct err *err)
{
    autostrv struct strv argv = {0};
    strv_pushl(&argv, job->run->opts.self, "__guard", "--file", NULL);
    strv_pushf(&argv, "%s/guard", job->dir);
    strv_push(&argv, "--signal");
    strv_pushf(&argv, "%d", call->stop_signal);
    strv_push(&argv, "--grace");
    strv_pushf(&argv, "%d", GRACE_MS);
    strv_push(&argv, "--");
    for (size_t i = 0; i < call->argv.n; i++)
        strv_push(&argv, call->argv.v[i]);
    struct spawn sp = {.argv = argv.v, .env = call->env.v, .dir = call->dir, .new_session = true};
    memcpy(sp.fds, fds, sizeof(sp.fds));
    return spawn_start(&sp, ret_pid, err);
}

int process_start_guarded(struct job *job, const struct agent_call *call, const char *in_path,
                          const char *out_path, const char *err_path,
                          void (*next)(struct job *, int), struct err *err)
{
    int life[2] = {-1, -1}, status[2] = {-1, -1};
    autoclose int out = open_log(out_path, err);
    autoclose int errfd = out < 0 ? -1 : open_log(err_path, err);
    autoclose int in = in_path ? open(in_path, O_RDONLY | O_CLOEXEC) : SPAWN_NULL;
    if (out < 0 || errfd < 0)
        return -1;
    if (in_path && in < 0)
        return err_sys(err, "open '%s'", in_path);
    if (spawn_pipe(life, err))
        return -1;
    int rc = spawn_pipe(status, err);
    int fds[SPAWN_FDS] = {in, out, errfd, life[0], status[1]};
    pid_t pid;
    if (rc == 0)
        rc = start_guard(job, call, fds, &pid, err);
    own_close(&life[0]);
    own_close(&status[1]);
    if (rc) {
        own_close(&life[1]);
        own_close(&status[0]);
        return -1;
    }
    job->process.lifeline = life[1];
    job->process.status = status[0];
    begin(job, pid, on_guard_end, next);
    if (job->stopped && !job->tearing_down) /* its very start could not be written down */
        process_order(&job->process, GUARD_STOP);
    return 0;
}
