/*
 * Carries out actions of the dashboard: requests to the run, and programs in a workspace.
 */
#include "cli/top/top.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/text/text.h"
#include "cli/common/amount.h"
#include "cli/top/paint.h"
#include "run/control/client.h"
#include "sys/proc/spawn.h"
#include "workspace/overlay/layers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void send_request(struct top *top, const struct node *request)
{
    autobuf struct buf text = BUF_INIT;
    struct err err = {0};
    bool done = false;
    if (control_call(top->feed.dir, request, &done, &text, &err))
        screen_say(&top->screen, true, err.msg);
    else
        screen_say(&top->screen, !done, text.s);
}

static bool names_task(enum wish_kind kind)
{
    return kind == WISH_STOP || kind == WISH_SKIP || kind == WISH_RETRY || kind == WISH_FRESH ||
           kind == WISH_SAY;
}

/* Fills in the request. False if the user typed no valid amount or text. */
static bool fill_request(struct top *top, const struct screen_wish *w, struct arena *a,
                         struct node *request)
{
    static const char *const verbs[] = {
        [WISH_STOP] = "stop",   [WISH_STOP_ALL] = "stop",   [WISH_SKIP] = "skip",
        [WISH_PAUSE] = "pause", [WISH_WORKERS] = "workers", [WISH_BUDGET] = "budget",
        [WISH_RETRY] = "retry", [WISH_FRESH] = "retry",     [WISH_SAY] = "say"};
    bool continues = w->kind == WISH_PAUSE && top->feed.board.paused;
    node_put_string(a, request, "verb", continues ? "continue" : verbs[w->kind]);
    if (names_task(w->kind))
        node_put_string(a, request, "task", top->feed.board.tasks[w->task].id);
    if (w->kind == WISH_FRESH)
        node_put_bool(a, request, "fresh", true);
    if (w->kind == WISH_SAY)
        node_put_string(a, request, "text", w->text);
    if (w->kind == WISH_STOP_ALL)
        node_put_bool(a, request, "all", true);
    if (w->kind == WISH_WORKERS)
        node_put_int(a, request, "by", w->by);
    if (w->kind == WISH_SAY)
        return text_valid(w->text, strlen(w->text)) == strlen(w->text);
    return w->kind != WISH_BUDGET || amount_put(w->text, a, request);
}

/* $EDITOR may hold options, so we let a shell split it. */
static void add_command(enum wish_kind kind, struct strv *argv)
{
    const char *shell = getenv("SHELL"), *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    if (kind == WISH_SHELL) {
        strv_push(argv, shell && *shell ? shell : "/bin/sh");
        return;
    }
    const char *own = visual && *visual ? visual : editor && *editor ? editor : "vi";
    strv_pushl(argv, "/bin/sh", "-c", "exec $0 .", own, NULL);
}

/* We ignore SIGINT meanwhile: ^C is meant for the other program. */
static int run_in_workspace(char *const *argv, const char *dir, struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    struct spawn sp = {.argv = argv,
                       .dir = dir,
                       .fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, SPAWN_NONE, SPAWN_NONE}};
    pid_t pid = -1;
    int status;
    (void)sigaction(SIGINT, &ignore, &old);
    int rc = spawn_start(&sp, &pid, err);
    while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)sigaction(SIGINT, &old, NULL);
    return rc;
}

static void open_workspace(struct top *top, const struct screen_wish *w)
{
    const struct board_task *t = &top->feed.board.tasks[w->task];
    autostrv struct strv argv = {0};
    struct err err = {0};
    if (!t->workspace || access(t->workspace, F_OK) < 0) {
        screen_say(&top->screen, true, "the task has no workspace now");
        return;
    }
    if (top->look->repo.common)
        layers_reach(t->workspace, top->look->repo.common, &argv);
    add_command(w->kind, &argv);
    paint_lend();
    int rc = run_in_workspace(argv.v, t->workspace, &err);
    paint_take_back();
    if (rc)
        screen_say(&top->screen, true, err.msg);
}

void top_wish(struct top *top, const struct screen_wish *w)
{
    autoarena struct arena a = {0};
    struct node *request = node_new_map(&a);
    if (w->kind == WISH_QUIT)
        loop_stop(top->loop);
    else if (w->kind == WISH_SHELL || w->kind == WISH_EDITOR)
        open_workspace(top, w);
    else if (fill_request(top, w, &a, request))
        send_request(top, request);
    else
        screen_say(&top->screen, true,
                   w->kind == WISH_SAY ? "the text is not UTF-8"
                                       : "not an amount, such as 5, $2.50 or 200ktokens");
}
