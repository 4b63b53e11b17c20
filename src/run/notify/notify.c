#include "run/notify/notify.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "run/notify/message.h"
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
    DESKTOP_MS = 5000, /* for a desktop; the sender of webhooks has a limit of its own */
    OTHER_MS = 60000,
    BELL_MS = 1000, /* between two bells */
    DESKTOP_COLUMNS = 300,
};

/* One notice to one of those who are to be told. */
struct delivery {
    struct notifier *n;
    const struct notify *to;
    struct notify_message notice;
    size_t number;
    pid_t pid; /* 0: not under way */
    struct watch *watch, *limit;
    bool late; /* and was ended */
};

struct notifier {
    struct run *run;
    const struct notify_list *to;
    char *dir;
    VEC(struct delivery *) list; /* from `next` on they wait for their turn */
    size_t next, open;
    int64_t rang; /* when the bell did last; 0: never */
    bool finishing, given_up;
};

/* An address without its path, which is often a secret. */
static char *describe(const struct notify *to)
{
    if (!to->webhook)
        return mem_str(to->desktop ? "desktop" : "command");
    size_t scheme = strlen("https://");
    return mem_printf("webhook %.*s", (int)(scheme + strcspn(to->webhook + scheme, "/?#")),
                      to->webhook);
}

static void tell_failure(const struct delivery *d, const char *reason)
{
    struct arena a = {0};
    struct node *data = node_new_map(&a);
    autofree char *to = describe(d->to);
    node_put_string(&a, data, "about", d->notice.event);
    node_put_string(&a, data, "to", to);
    node_put_string(&a, data, "reason", reason);
    record(d->n->run, EV_NOTIFY_FAILED, d->notice.task, data);
    arena_done(&a);
}

static char *log_path(const struct delivery *d)
{
    return mem_printf("%s/%zu.log", d->n->dir, d->number);
}

/* The last line that it wrote. */
static void add_last_words(const struct delivery *d, struct buf *out)
{
    autofree char *path = log_path(d);
    autoclose int fd = -1;
    char bytes[LOG_TAIL];
    off_t end =
        file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, NULL) ? 0 : lseek(fd, 0, SEEK_END);
    off_t start = end > LOG_TAIL ? end - LOG_TAIL : 0;
    ssize_t n = end > 0 ? pread(fd, bytes, sizeof(bytes), start) : 0;
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

/* The program that shows a notice on the desktop; NULL: this machine has none. */
static const char *find_desktop(void)
{
    static const char *const programs[] = {"notify-send", "osascript"};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        if (spawn_finds(programs[i]))
            return programs[i];
    }
    return NULL;
}

/* A line that is not too long for the eye. What notify-send hands on as the text of a notice may
 * hold markup; its title may not. */
static char *line_for_desktop(const char *s, bool markup)
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
    autofree char *title = line_for_desktop(name, false);
    autofree char *text = line_for_desktop(d->notice.text, !mac);
    if (mac) /* the words are arguments of the script, never part of it */
        strv_pushl(argv, program, "-e", "on run argv", "-e",
                   "display notification (item 2 of argv) with title (item 1 of argv)", "-e",
                   "end run", "--", title, text, NULL);
    else
        strv_pushl(argv, "notify-send", "--app-name=anabranch", "--", title, text, NULL);
}

static void build_argv(const struct delivery *d, struct strv *argv)
{
    const struct plan_command *command = &d->to->command;
    if (d->to->webhook) {
        autofree char *sender = find_sender();
        strv_push(argv, sender);
    } else if (d->to->desktop) {
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

/* The input as an open file without a name: nothing to wait for while it is read, and an address
 * that is a secret does not stay behind. */
static int open_input(const struct delivery *d, struct err *err)
{
    autofree char *path = mem_printf("%s/%zu.in", d->n->dir, d->number);
    autobuf struct buf text = BUF_INIT;
    if (d->to->webhook)
        buf_addf(&text, "%s\n", d->to->webhook);
    buf_addstr(&text, d->notice.body);
    if (file_create(path, text.s, text.len, err))
        return -1;
    int fd = -1;
    (void)file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &fd, err);
    (void)unlink(path);
    return fd;
}

static int spawn(struct delivery *d, struct err *err)
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

static void start_next(struct notifier *n);

static void on_end(void *ctx, int status)
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
        if (d->late)
            buf_addstr(&reason, "took too long, and was ended");
        else if (WIFSIGNALED(status))
            buf_addf(&reason, "ended by signal %d", WTERMSIG(status));
        else
            buf_addf(&reason, "exit code %d", WEXITSTATUS(status));
        add_last_words(d, &reason);
        tell_failure(d, reason.s);
    }
    start_next(n);
    if (n->finishing && !n->open)
        loop_stop(n->run->loop);
}

/* One that hangs would keep its place from the others as long as the run goes on. */
static void on_late(void *ctx)
{
    struct delivery *d = ctx;
    d->late = true;
    (void)kill(-d->pid, SIGKILL); /* it leads a session and a group */
}

static void start(struct delivery *d)
{
    struct loop *loop = d->n->run->loop;
    struct err err = {0};
    if (d->to->desktop && !find_desktop()) /* a machine without one is not a failure */
        return;
    if (spawn(d, &err) == 0) {
        d->watch = loop_child(loop, d->pid, on_end, d);
        d->limit = loop_timer(
            loop, time_limit_with_commands(d->to->desktop ? DESKTOP_MS : OTHER_MS), on_late, d);
        d->n->open++;
        return;
    }
    autofree char *log = log_path(d);
    (void)unlink(log);
    tell_failure(d, err.msg);
}

/* Tasks may fail by the hundred; the machine is for the agents. */
static void start_next(struct notifier *n)
{
    while (n->open < OPEN_MAX_ && n->next < n->list.n)
        start(n->list.v[n->next++]);
}

/* Many things may happen at once; one bell says so as well as ten. */
static void ring(struct notifier *n)
{
    int64_t now = clock_mono();
    if (n->rang && now - n->rang < BELL_MS)
        return;
    n->rang = now;
    term_bell();
}

static void tell(struct notifier *n, const struct event *ev, enum notify_on on)
{
    for (size_t i = 0; i < n->to->n; i++) {
        const struct notify *to = &n->to->v[i];
        bool reachable = to->webhook || to->desktop || to->command.shell || to->command.argv.n;
        if (to->on & 1u << on && to->bell)
            ring(n);
        if (!(to->on & 1u << on) || !reachable)
            continue;
        struct delivery *d = mem_alloc(sizeof(*d));
        *d = (struct delivery){.n = n, .to = to, .number = n->list.n + 1};
        notify_message_init(&d->notice, n->run, ev, on);
        vec_push(&n->list, d);
    }
    start_next(n);
}

static void on_event(void *ctx, const struct event *ev)
{
    struct notifier *n = ctx;
    bool orchestra = n->run->pf->plan.kind == PLAN_ORCHESTRA; /* says at the end what failed */
    bool waiting = strcmp(event_name(ev->kind), "task.waiting") == 0;
    if (ev->kind == EV_TASK_FAILED && !orchestra)
        tell(n, ev, NOTIFY_FAILED);
    else if (ev->kind == EV_TASK_CONFLICTED)
        tell(n, ev, NOTIFY_CONFLICTED);
    else if (ev->kind == EV_TASK_PARKED)
        tell(n, ev, NOTIFY_PARKED);
    else if (waiting)
        tell(n, ev, NOTIFY_WAITING);
    else if (ev->kind == EV_RUN_FINISHED && notify_message_all_well(n->run))
        tell(n, ev, NOTIFY_DONE);
    else if (ev->kind == EV_RUN_FINISHED && orchestra && notify_message_failed(n->run))
        tell(n, ev, NOTIFY_FAILED);
}

struct notifier *notifier_new(struct run *run)
{
    const struct notify_list *own = &run->pf->plan.notify;
    const struct notify_list *to = own->said ? own : &run->config.config.notify;
    if (!to->n)
        return NULL;
    struct notifier *n = mem_alloc(sizeof(*n));
    n->run = run;
    n->to = to;
    n->dir = mem_printf("%s/notify", run->dir);
    run_observe(run, on_event, n);
    return n;
}

static void on_enough(void *ctx)
{
    struct notifier *n = ctx;
    n->given_up = true;
    loop_stop(n->run->loop);
}

static void give_up(struct delivery *d)
{
    if (d->pid) {
        (void)kill(-d->pid, SIGKILL); /* it leads a session and a group */
        tell_failure(d, "had not ended when the run had");
    } else {
        tell_failure(d, "its turn had not come when the run ended");
    }
}

static void take_signals(struct notifier *n)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct run *run = n->run;
    watch_free(run->later);
    run->later = NULL;
    for (size_t i = 0; i < 3; i++) {
        watch_free(run->signals[i]);
        run->signals[i] = loop_signal(run->loop, numbers[i], on_enough, n);
    }
}

void notifier_finish(struct notifier *n)
{
    if (!n || !n->open)
        return;
    n->finishing = true;
    take_signals(n);
    struct watch *deadline = loop_timer(n->run->loop, FINISH_MS, on_enough, n);
    while (n->open && !n->given_up && loop_run(n->run->loop, NULL) == 0)
        continue;
    watch_free(deadline);
    for (size_t i = 0; i < n->list.n; i++) {
        if (n->list.v[i]->pid || i >= n->next)
            give_up(n->list.v[i]);
    }
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
