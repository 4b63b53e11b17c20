#include "cli/run/detach.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/strv.h"
#include "cli/common/lookup.h"
#include "cli/run/run_view.h"
#include "cli/top/top.h"
#include "doc/doc.h"
#include "git/state_paths.h"
#include "sys/fs/file.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"
#include "sys/self_exe.h"
#include "view/report/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Set for that process, and for nobody that it starts. */
#define MARK "ANABRANCH_DETACHED"

enum { WORD_FD = 3, ID_MAX = 64 };

/* --- there -------------------------------------------------------------------------------- */

bool detach_is_there(void)
{
    static int there = -1;
    if (there < 0) {
        const char *mark = getenv(MARK);
        there = mark && strcmp(mark, "1") == 0;
        (void)unsetenv(MARK); /* cannot fail: a valid name */
        if (there && fcntl(WORD_FD, F_SETFD, FD_CLOEXEC) < 0)
            there = 0;
    }
    return there;
}

static void use(int fd, int as)
{
    if (fd >= 0 && fd != as)
        (void)dup2(fd, as); /* where that fails it goes on to be what it was */
}

/* Standard output and error become the log: nobody may be there to read the old ones. */
static void on_event(void *ctx, const struct event *ev)
{
    static bool arrived;
    struct run *run = ctx;
    (void)ev;
    if (arrived)
        return;
    arrived = true;
    autofree char *path = mem_printf("%s/run.log", run_dir(run));
    autoclose int log = -1;
    (void)file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &log, NULL);
    autoclose int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)fflush(stdout);
    use(log, STDOUT_FILENO);
    use(log, STDERR_FILENO);
    use(null, STDIN_FILENO);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    autofree char *line = mem_printf("%s\n", run_id(run));
    if (write(WORD_FD, line, strlen(line)) < 0) /* who started us has gone, and knows of no run */
        (void)raise(SIGTERM);
    (void)close(WORD_FD);
}

void detach_arrive(struct run *run)
{
    if (detach_is_there())
        run_observe(run, on_event, run);
}

/* --- here --------------------------------------------------------------------------------- */

bool detach_is_wanted(const struct run_call *call)
{
    bool shows = call->dashboard && run_view_can_draw(stdout) && isatty(STDIN_FILENO);
    return !detach_is_there() && (call->detach || shows);
}

/* A plan may be read from our input. */
static bool reads_input(void)
{
    for (char **word = cli_words; *word; word++) {
        if (strcmp(*word, "-") == 0)
            return true;
    }
    return false;
}

static int start(int *ret_fd, pid_t *ret_pid, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    int word[2];
    if (!self_path())
        return err_set(err, ERR_ENV, "the system does not tell where this program is");
    strv_push(&argv, self_path());
    for (char **w = cli_words + 1; *w; w++)
        strv_push(&argv, *w);
    for (char **var = environ; *var; var++)
        strv_push(&env, *var);
    strv_push(&env, MARK "=1");
    if (spawn_pipe(word, err))
        return -1;
    struct spawn sp = {.argv = argv.v,
                       .env = env.v,
                       .fds = {reads_input() ? STDIN_FILENO : SPAWN_NULL, STDOUT_FILENO,
                               STDERR_FILENO, word[1], SPAWN_NONE},
                       .new_session = true};
    int rc = spawn_start(&sp, ret_pid, err);
    own_close(&word[1]);
    if (rc)
        own_close(&word[0]);
    *ret_fd = word[0];
    return rc;
}

/* The id, or nothing where the run could not begin. */
static void hear(int fd, char id[ID_MAX])
{
    size_t len = 0;
    for (ssize_t n; len < ID_MAX - 1 && (n = read(fd, id + len, ID_MAX - 1 - len)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        len += (size_t)n;
    }
    id[len] = '\0';
    id[strcspn(id, "\n")] = '\0';
}

static int exit_code_of(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return EXIT_ENV;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int say_how(const struct run_call *call, const char *id, const char *state_dir)
{
    autobuf struct buf out = BUF_INIT;
    autofree char *log = run_file_path(state_dir, id, "run.log");
    struct arena a = {0};
    if (call->json) {
        struct node *map = node_new_map(&a);
        node_put_string(&a, map, "run", id);
        node_put_string(&a, map, "log", log);
        doc_write_line(&out, map);
        buf_addch(&out, '\n');
    } else if (!call->quiet) {
        buf_addf(&out,
                 "Run %s goes on in the background.\n"
                 "  anabranch top %s    watch and steer it\n"
                 "  anabranch stop --all --run %s    stop it\n"
                 "What it says is in %s\n",
                 id, id, id, log);
    }
    arena_done(&a);
    return out.len ? cli_print(out.s, out.len) : EXIT_OK;
}

/* How it ended, or that it has not. */
static int say_end(struct lookup *look, const char *id, const struct run_call *call)
{
    autoreport struct report r = {0};
    autobuf struct buf out = BUF_INIT;
    int code = lookup_run(look, id, &r);
    if (code != EXIT_OK)
        return code;
    if (report_is_running(&r))
        return say_how(call, id, look->state_dir);
    summary(&r, call->quiet, &out);
    code = cli_print(out.s, out.len);
    return code == EXIT_OK ? r.row.exit_code : code;
}

int detach_go(const struct run_call *call)
{
    autolook struct lookup look = {0};
    autoclose int fd = -1;
    struct err err = {0};
    char id[ID_MAX];
    pid_t pid = -1;
    if (start(&fd, &pid, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    hear(fd, id);
    if (!*id)
        return exit_code_of(pid);
    int code = lookup_open(&look);
    if (code != EXIT_OK || !call->dashboard)
        return code != EXIT_OK ? code : say_how(call, id, look.state_dir);
    code = top_show(&look, id);
    return code == EXIT_OK ? say_end(&look, id, call) : code;
}
