#include "base/mem.h"
#include "cli/common/lookup.h"
#include "cli/frame/commands.h"
#include "sys/fs/file.h"
#include "sys/proc/spawn.h"
#include "view/serve/serve.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct serve_opts {
    int64_t port;
    bool open, read_only;
};

/* The state of a running server. */
struct session {
    struct loop *loop;
    struct serve *serve;
    struct watch *signals[3], *browser;
    char *shortcut; /* file that redirects a browser to the page, or NULL */
};

static void session_close(struct session *s)
{
    serve_close(s->serve);
    for (size_t i = 0; i < ARRAY_LEN(s->signals); i++)
        watch_free(s->signals[i]);
    watch_free(s->browser);
    loop_free(s->loop);
    if (s->shortcut)
        (void)unlink(s->shortcut);
    free(s->shortcut);
}

static void on_signal(void *ctx)
{
    struct session *s = ctx;
    loop_stop(s->loop);
}

static void session_init(struct session *s)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    *s = (struct session){.loop = loop_new()};
    (void)sigaction(SIGPIPE, &ignore, NULL); /* a client that leaves must not end us */
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        s->signals[i] = loop_signal(s->loop, signals[i], on_signal, s);
}

static void on_browser_end(void *ctx, int status)
{
    (void)ctx;
    if (status != 0)
        (void)cli_fail(EXIT_ENV, "cannot open a browser; open the address above yourself");
}

/* Everyone can see the arguments of a process. So we give the browser a file that only the user can
 * read, which redirects to the address with the token. */
static int write_shortcut(struct session *s, const char *state_dir, struct err *err)
{
    autobuf struct buf html = BUF_INIT;
    s->shortcut = mem_printf("%s/serve.html", state_dir);
    buf_addf(&html,
             "<!doctype html>\n<meta charset=\"utf-8\">\n<title>anabranch</title>\n"
             "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n",
             serve_url(s->serve));
    return file_replace_private(s->shortcut, html.s, html.len, err);
}

static int open_browser(struct session *s, const char *state_dir, struct err *err)
{
    const char *opener = spawn_finds("xdg-open") ? "xdg-open" : "open";
    if (write_shortcut(s, state_dir, err))
        return -1;
    char *argv[] = {(char *)opener, s->shortcut, NULL};
    struct spawn sp = {.argv = argv,
                       .fds = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, SPAWN_NONE, SPAWN_NONE},
                       .new_session = true};
    pid_t pid;
    if (spawn_start(&sp, &pid, err))
        return -1;
    s->browser = loop_child(s->loop, pid, on_browser_end, s);
    return 0;
}

static int print_address(const struct session *s)
{
    autofree char *line = mem_printf("%s\n", serve_url(s->serve));
    int code = cli_print(line, strlen(line));
    return code == EXIT_OK && fflush(stdout) != 0 ? EXIT_ENV : code;
}

static int serve_runs(const struct serve_opts *opts, const struct lookup *look, const char *run)
{
    own_cleanup(session_close) struct session s;
    struct err err = {0};
    struct serve_options options = {.state_dir = look->state_dir,
                                    .repo = &look->repo,
                                    .run = run,
                                    .port = (uint16_t)opts->port,
                                    .read_only = opts->read_only};
    session_init(&s);
    if (serve_open(&s.serve, s.loop, &options, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    int code = print_address(&s);
    if (code != EXIT_OK)
        return code;
    if (opts->open && open_browser(&s, look->state_dir, &err))
        (void)cli_fail(EXIT_ENV, "cannot open a browser: %s", err.msg);
    return loop_run(s.loop, &err) ? cli_fail(EXIT_ENV, "%s", err.msg) : EXIT_OK;
}

static int run_serve(const void *options, char **argv)
{
    const struct serve_opts *opts = options;
    autolook struct lookup look = {0};
    autoreport struct report r = {0};
    if (opts->port > UINT16_MAX)
        return cli_fail(EXIT_USAGE, "a port is a number from 1 to 65535");
    int code = lookup_open_run(&look, argv[0], &r);
    return code == EXIT_OK ? serve_runs(opts, &look, argv[0] ? r.row.id : NULL) : code;
}

static const struct opt opts_table[] = {
    {"port", 0, OPT_COUNT, offsetof(struct serve_opts, port), "N", NULL,
     "Listen on this port (default: the last port, or any free one)"},
    {"open", 0, OPT_FLAG, offsetof(struct serve_opts, open), NULL, NULL,
     "Open the page in a browser"},
    {"read-only", 0, OPT_FLAG, offsetof(struct serve_opts, read_only), NULL, NULL,
     "Refuse every request that could change something"},
    {0},
};

static const struct arg args[] = {
    {.name = "RUN",
     .help =
         "The run to show first: its id, the beginning of its id, or 'last' (default: the newest)",
     .optional = true},
    {0},
};

const struct command cmd_serve = {
    .name = "serve",
    .summary = "Show runs live on a page in the browser",
    .about =
        "Serves one page, only on this machine (127.0.0.1), until Ctrl-C: the tasks of a run, "
        "their graph and timeline, the agents' output, the changes and their cost, the tasks "
        "that changed the same files, and earlier runs, two of which you can compare. It needs "
        "no network.\n\n"
        "You can steer a live run there: stop or skip a task, pause and continue the run, and "
        "change the number of agents. --read-only refuses that.\n\n"
        "The printed address holds a random token: everyone who has it can see everything that "
        "is shown, and steer the run. The token is kept for a day in the repository's own "
        "folder, readable by you alone, so that an open page continues after you start the "
        "server again; another port gets a new token. From another machine, forward the port: "
        "'ssh -L 8000:127.0.0.1:PORT HOST', and open the address with 8000 for PORT.",
    .examples = "anabranch serve --open\tOpen the newest run in the browser\n"
                "anabranch serve --port 8000 20260301\tShow another run, on this port\n",
    .args = args,
    .opts = opts_table,
    .options_size = sizeof(struct serve_opts),
    .exits = cli_usual_exits,
    .see_also = "anabranch-events(7)",
    .run = run_serve,
};
