#include "run/notify/notify.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "run/notify/message.h"
#include "run/state/record.h"
#include "run/state/run_state.h"
#include "run/state/wake.h"
#include "sys/clock.h"
#include "sys/fs/dirs.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/self_exe.h"
#include "sys/term.h"
#include "sys/time_limits.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPEN_MAX_ = 8,
    FINISH_MS = 10000,
    LOG_TAIL = 2048,
    DESKTOP_MS = 5000, /* for a desktop; the program that calls webhooks has its own timeout */
    OTHER_MS = 60000,
    BELL_MS = 1000, /* between two bells */
    DESKTOP_COLUMNS = 300,
};

/* One message to one receiver. */
struct delivery {
    struct notifier *n;
    const struct notify *receiver;
    struct notify_message notice;
    size_t number;
    pid_t pid; /* 0: not running */
    struct watch *watch, *limit;
    bool timed_out; /* timed out and was killed */
};

struct notifier {
    struct run *run;
    const struct notify_list *receivers;
    char *dir;
    VEC(struct delivery *) list; /* deliveries from `next` on have not started */
    size_t next, open;
    int64_t rang; /* time of the last bell; 0: never */
};

/* Names the receiver. Leaves out the path of an address, which is often a secret. */
static char *describe_receiver(const struct notify *receiver)
{
    if (!receiver->webhook)
        return mem_str(receiver->desktop ? "desktop" : "command");
    size_t scheme = strlen("https://");
    return mem_printf("webhook %.*s", (int)(scheme + strcspn(receiver->webhook + scheme, "/?#")),
                      receiver->webhook);
}

static void record_failure(const struct delivery *d, const char *reason)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    autofree char *receiver = describe_receiver(d->receiver);
    node_put_string(&a, data, "about", d->notice.event);
    node_put_string(&a, data, "to", receiver);
    node_put_string(&a, data, "reason", reason);
    record(d->n->run, EV_NOTIFY_FAILED, d->notice.task, data);
    arena_done(&a);
}

static char *log_path(const struct delivery *d)
{
    return mem_printf("%s/%zu.log", d->n->dir, d->number);
}

/* Adds the last line of the delivery's output. */
static void add_last_line(const struct delivery *d, struct buf *out)
{
    autofree char *path = log_path(d);
    autoclose int fd = -1;
    char bytes[LOG_TAIL];
    off_t end =
        file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, NULL) ? 0 : lseek(fd, 0, SEEK_END);
    off_t start_delivery = end > LOG_TAIL ? end - LOG_TAIL : 0;
    ssize_t n = end > 0 ? pread(fd, bytes, sizeof(bytes), start_delivery) : 0;
    while (n > 0 && strchr(" \t\r\n", bytes[n - 1]))
        n--;
    const char *line = n > 0 ? memrchr(bytes, '\n', (size_t)n) : NULL;
    line = line ? line + 1 : bytes;
    if (n > 0)
        buf_addf(out, ": %.*s", (int)(bytes + n - line), line);
}

/* The program that calls webhooks: the user's own, the one beside this program, or the installed
 * one. */
static char *find_sender(void)
{
    const char *named = getenv("ANABRANCH_POST");
    if (named && *named)
        return mem_str(named);
    char *ours = self_companion(ANABRANCH_LIBEXEC, "anabranch-post");
    return ours ? ours : mem_str(ANABRANCH_LIBEXEC "/anabranch-post");
}

/* Finds the program that shows desktop notifications; NULL if this machine has none. */
static const char *find_desktop(void)
{
    static const char *const programs[] = {"notify-send", "osascript"};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (spawn_finds(programs[i]))
            return programs[i];
    }
    return NULL;
}

/* Shortens a text to one line for the desktop. notify-send accepts markup in the text, but not
 * in the title. */
static char *make_desktop_line(const char *s, bool markup)
{
    autobuf struct buf line = BUF_INIT, out = BUF_INIT;
    text_add_harmless(&line, s);
    buf_cut(&line, text_fit(line.s, line.len, DESKTOP_COLUMNS));
    for (const char *c = line.s; *c; c++) {
        if (markup && *c == '&')
            buf_addstr(&out, "&amp;");
        else if (markup && *c == '<')
            buf_addstr(&out, "&lt;");
        else
            buf_addch(&out, *c);
    }
    return buf_steal(&out);
}

static void build_desktop(const struct delivery *d, struct strv *argv)
{
    const char *program = find_desktop();
    bool mac = program && strcmp(program, "osascript") == 0;
    autofree char *name = notify_message_plan_name(d->n->run);
    autofree char *title = make_desktop_line(name, false);
    autofree char *text = make_desktop_line(d->notice.text, !mac);
    if (mac) /* title and text are arguments of the script, never part of it */
        strv_pushl(argv, program, "-e", "on run argv", "-e",
                   "display notification (item 2 of argv) with title (item 1 of argv)", "-e",
                   "end run", "--", title, text, NULL);
    else
        strv_pushl(argv, "notify-send", "--app-name=anabranch", "--", title, text, NULL);
}

static void build_argv(const struct delivery *d, struct strv *argv)
{
    const struct plan_command *command = &d->receiver->command;
    if (d->receiver->webhook) {
        autofree char *sender = find_sender();
        strv_push(argv, sender);
    } else if (d->receiver->desktop) {
        build_desktop(d, argv);
    } else if (command->shell) {
        strv_pushl(argv, "/bin/sh", "-c", command->shell, NULL);
    } else {
        for (size_t i = 0; i < command->argv.n; i++)
            strv_push(argv, command->argv.v[i]);
    }
}

static void build_env(const struct delivery *d, struct strv *env)
{
    const struct run *run = d->n->run;
    autofree char *name = notify_message_plan_name(run);
    git_outside_environment(env);
    strv_pushf(env, "ANABRANCH_EVENT=%s", d->notice.event);
    strv_pushf(env, "ANABRANCH_RUN=%s", run->id);
    strv_pushf(env, "ANABRANCH_PLAN=%s", name);
    if (d->notice.task < 0)
        return;
    strv_pushf(env, "ANABRANCH_TASK=%s", run->pf->plan.tasks[d->notice.task].id);
    strv_pushf(env, "ANABRANCH_ATTEMPT=%d", run->tasks[d->notice.task].status.attempts);
}

/* Opens the input as a file that is already deleted. A reader never waits, and an address that
 * is a secret does not stay behind. */
static int open_input(const struct delivery *d, struct err *err)
{
    autofree char *path = mem_printf("%s/%zu.in", d->n->dir, d->number);
    autobuf struct buf text = BUF_INIT;
    if (d->receiver->webhook)
        buf_addf(&text, "%s\n", d->receiver->webhook);
    buf_addstr(&text, d->notice.body);
    if (file_create(path, text.s, text.len, err))
        return -1;
    int fd = -1;
    (void)file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, err);
    (void)unlink(path);
    return fd;
}

static int spawn_process(struct delivery *d, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    autofree char *log = log_path(d);
    if (dirs_make(d->n->dir, err))
        return -1;
    autoclose int in = open_input(d, err);
    autoclose int out = -1;
    if (in < 0 || file_open(AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &out, err))
        return -1;
    build_argv(d, &argv);
    build_env(d, &env);
    struct spawn sp = {
        .argv = argv.v,
        .env = env.v,
        .dir = d->n->run->pf->project,
        .fds = {in, out, out, SPAWN_NONE, SPAWN_NONE},
        .new_session = true,
    };
    return spawn_start(&sp, &d->pid, err);
}

static void start_next_deliveries(struct notifier *n);

static void on_delivery_exit(void *ctx, int status)
{
    struct delivery *d = ctx;
    struct notifier *n = d->n;
    autobuf struct buf reason = BUF_INIT;
    autofree char *log = log_path(d);
    d->pid = 0;
    watch_free(d->watch);
    watch_free(d->limit);
    d->watch = d->limit = NULL;
    n->open--;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        (void)unlink(log);
    } else {
        if (d->timed_out)
            buf_addstr(&reason, "timed out and was killed");
        else if (WIFSIGNALED(status))
            buf_addf(&reason, "ended by signal %d", WTERMSIG(status));
        else
            buf_addf(&reason, "exit code %d", WEXITSTATUS(status));
        add_last_line(d, &reason);
        record_failure(d, reason.s);
    }
    start_next_deliveries(n);
    if (!n->open)
        run_wake(n->run);
}

/* Kills a delivery that hangs: it would block others as long as the run goes on. */
static void on_timeout(void *ctx)
{
    struct delivery *d = ctx;
    d->timed_out = true;
    (void)kill(-d->pid, SIGKILL); /* it leads a session and a group */
}

static void start_delivery(struct delivery *d)
{
    struct loop *loop = d->n->run->loop;
    struct err err = {0};
    if (d->receiver->desktop && !find_desktop()) /* a machine without a desktop is not a failure */
        return;
    if (spawn_process(d, &err) == 0) {
        d->watch = loop_child(loop, d->pid, on_delivery_exit, d);
        d->limit =
            loop_timer(loop, time_limit_with_commands(d->receiver->desktop ? DESKTOP_MS : OTHER_MS),
                       on_timeout, d);
        d->n->open++;
        return;
    }
    autofree char *log = log_path(d);
    (void)unlink(log);
    record_failure(d, err.msg);
}

/* Limits the running deliveries: tasks may fail by the hundred, and the machine is for the
 * agents. */
static void start_next_deliveries(struct notifier *n)
{
    while (n->open < OPEN_MAX_ && n->next < n->list.n)
        start_delivery(n->list.v[n->next++]);
}

/* Rings at most once per BELL_MS: many events may happen at once. */
static void ring_bell(struct notifier *n)
{
    int64_t now = clock_mono();
    if (n->rang && now - n->rang < BELL_MS)
        return;
    n->rang = now;
    term_bell();
}

static void notify_receivers(struct notifier *n, const struct event *ev, enum notify_on on)
{
    for (size_t i = 0; i < n->receivers->n; i++) {
        const struct notify *receiver = &n->receivers->v[i];
        bool reachable = receiver->webhook || receiver->desktop || receiver->command.shell ||
                         receiver->command.argv.n;
        if (receiver->on & 1u << on && receiver->bell)
            ring_bell(n);
        if (!(receiver->on & 1u << on) || !reachable)
            continue;
        struct delivery *d = mem_alloc(sizeof(*d));
        *d = (struct delivery){.n = n, .receiver = receiver, .number = n->list.n + 1};
        notify_message_init(&d->notice, n->run, ev, on);
        vec_push(&n->list, d);
    }
    start_next_deliveries(n);
}

static void on_event(void *ctx, const struct event *ev)
{
    struct notifier *n = ctx;
    bool orchestra =
        n->run->pf->plan.kind == PLAN_ORCHESTRA; /* reports failures at the end of the run */
    bool waiting = strcmp(event_name(ev->kind), "task.waiting") == 0;
    if (ev->kind == EV_TASK_FAILED && !orchestra)
        notify_receivers(n, ev, NOTIFY_FAILED);
    else if (ev->kind == EV_TASK_CONFLICTED)
        notify_receivers(n, ev, NOTIFY_CONFLICTED);
    else if (ev->kind == EV_TASK_PARKED)
        notify_receivers(n, ev, NOTIFY_PARKED);
    else if (waiting)
        notify_receivers(n, ev, NOTIFY_WAITING);
    else if (ev->kind == EV_RUN_FINISHED && notify_message_all_well(n->run))
        notify_receivers(n, ev, NOTIFY_DONE);
    else if (ev->kind == EV_RUN_FINISHED && orchestra && notify_message_failed(n->run))
        notify_receivers(n, ev, NOTIFY_FAILED);
}

static void give_up_delivery(struct delivery *d)
{
    if (d->pid) {
        (void)kill(-d->pid, SIGKILL); /* it leads a session and a group */
        record_failure(d, "was still running when the run ended");
    } else {
        record_failure(d, "was not sent before the run ended");
    }
    watch_free(d->watch);
    watch_free(d->limit);
    d->watch = d->limit = NULL;
}

static bool is_idle(const void *ctx)
{
    const struct notifier *n = ctx;
    return !n->open;
}

static void give_up_deliveries(void *ctx)
{
    struct notifier *n = ctx;
    for (size_t i = 0; i < n->list.n; i++) {
        if (n->list.v[i]->pid || i >= n->next)
            give_up_delivery(n->list.v[i]);
    }
    n->open = 0;
    n->next = n->list.n;
    run_wake(n->run);
}

struct notifier *notifier_new(struct run *run)
{
    static const struct open_work work = {is_idle, give_up_deliveries, FINISH_MS};
    const struct notify_list *own = &run->pf->plan.notify;
    const struct notify_list *receivers = own->said ? own : &run->config.config.notify;
    if (!receivers->n)
        return NULL;
    struct notifier *n = mem_alloc(sizeof(*n));
    n->run = run;
    n->receivers = receivers;
    n->dir = mem_printf("%s/notify", run->files.dir);
    vec_push(&run->audience.observers, (struct observer){.fn = on_event, .ctx = n, .work = &work});
    return n;
}

void notifier_free(struct notifier *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->list.n; i++) {
        watch_free(n->list.v[i]->watch);
        watch_free(n->list.v[i]->limit);
        notify_message_done(&n->list.v[i]->notice);
        free(n->list.v[i]);
    }
    vec_done(&n->list);
    free(n->dir);
    free(n);
}
