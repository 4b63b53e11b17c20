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
#include "view/report/kept_ref.h"
#include "view/report/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* We set this variable for the background process, which unsets it before it starts others. */
#define DETACHED_VAR "ANABRANCH_DETACHED"

enum { ID_FD = 3, ID_MAX = 64 };

bool detach_is_there(void)
{
    static int detached = -1;
    if (detached < 0) {
        const char *value = getenv(DETACHED_VAR);
        detached = value && strcmp(value, "1") == 0;
        (void)unsetenv(DETACHED_VAR); /* cannot fail: a valid name */
        if (detached && fcntl(ID_FD, F_SETFD, FD_CLOEXEC) < 0)
            detached = 0;
    }
    return detached;
}

static void replace_fd(int fd, int as)
{
    if (fd >= 0 && fd != as)
        (void)dup2(fd, as); /* if this fails, the old stream stays */
}

/* At the first event we redirect the output to the log, because the old readers may be gone. Then
 * we send the id to the process that started us. */
static void switch_to_log(void *ctx, const struct event *ev)
{
    static bool switched;
    struct run *run = ctx;
    (void)ev;
    if (switched)
        return;
    switched = true;
    autofree char *path = mem_printf("%s/run.log", run_dir(run));
    autoclose int log = -1;
    (void)file_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, &log, NULL);
    autoclose int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)fflush(stdout);
    replace_fd(log, STDOUT_FILENO);
    replace_fd(log, STDERR_FILENO);
    replace_fd(null, STDIN_FILENO);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    autofree char *line = mem_printf("%s\n", run_id(run));
    if (write(ID_FD, line, strlen(line)) < 0) /* it is gone: the user knows of no run */
        (void)raise(SIGTERM);
    (void)close(ID_FD);
}

void detach_arrive(struct run *run)
{
    if (detach_is_there())
        run_observe(run, switch_to_log, run);
}

bool detach_is_wanted(const struct run_call *call)
{
    bool shows = call->dashboard && run_view_can_draw(stdout) && isatty(STDIN_FILENO);
    return !detach_is_there() && (call->detach || shows);
}

/* The plan may be on standard input: "-". */
static bool plan_is_on_stdin(void)
{
    for (char **word = cli_words; *word; word++) {
        if (strcmp(*word, "-") == 0)
            return true;
    }
    return false;
}

static int start_background(int *ret_fd, pid_t *ret_pid, struct err *err)
{
    autostrv struct strv argv = {0}, env = {0};
    int id_pipe[2];
    if (!self_path())
        return err_set(err, ERR_ENV, "cannot find the path of this program");
    strv_push(&argv, self_path());
    for (char **w = cli_words + 1; *w; w++)
        strv_push(&argv, *w);
    for (char **var = environ; *var; var++)
        strv_push(&env, *var);
    strv_push(&env, DETACHED_VAR "=1");
    if (spawn_pipe(id_pipe, err))
        return -1;
    struct spawn sp = {.argv = argv.v,
                       .env = env.v,
                       .fds = {plan_is_on_stdin() ? STDIN_FILENO : SPAWN_NULL, STDOUT_FILENO,
                               STDERR_FILENO, id_pipe[1], SPAWN_NONE},
                       .new_session = true};
    int rc = spawn_start(&sp, ret_pid, err);
    own_close(&id_pipe[1]);
    if (rc)
        own_close(&id_pipe[0]);
    *ret_fd = id_pipe[0];
    return rc;
}

/* Reads the run's id, or "" if the run could not begin. */
static void read_run_id(int fd, char id[ID_MAX])
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

static int print_how_to_return(const struct run_call *call, const char *id, const char *state_dir)
{
    autobuf struct buf out = BUF_INIT;
    autofree char *log = run_file_path(state_dir, id, "run.log");
    autoarena struct arena a = {0};
    if (call->json) {
        struct node *map = node_new_map(&a);
        node_put_string(&a, map, "run", id);
        node_put_string(&a, map, "log", log);
        doc_write_whole_line(&out, map);
    } else if (!call->quiet) {
        buf_addf(&out,
                 "Run %s is running in the background.\n"
                 "  anabranch top %s    watch and steer it\n"
                 "  anabranch stop --all --run %s    stop it\n"
                 "Its output is in %s\n",
                 id, id, id, log);
    }
    return out.len ? cli_print(out.s, out.len) : EXIT_OK;
}

/* Prints the summary if the run has ended, else how to return to it. */
static int print_outcome(struct lookup *look, const char *id, const struct run_call *call)
{
    autoreport struct report r = {0};
    autobuf struct buf out = BUF_INIT;
    int code = lookup_run(look, id, &r);
    if (code != EXIT_OK)
        return code;
    if (report_is_running(&r))
        return print_how_to_return(call, id, look->state_dir);
    report_find_merge_place(&r, &look->repo);
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
    if (start_background(&fd, &pid, &err))
        return cli_fail(EXIT_ENV, "%s", err.msg);
    read_run_id(fd, id);
    if (!*id)
        return exit_code_of(pid);
    int code = lookup_open(&look);
    if (code != EXIT_OK || !call->dashboard)
        return code != EXIT_OK ? code : print_how_to_return(call, id, look.state_dir);
    code = top_show(&look, id);
    return code == EXIT_OK ? print_outcome(&look, id, call) : code;
}
