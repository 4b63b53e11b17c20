#include "clean/doctor_probe.h"

#include "base/mem.h"
#include "base/node/node_build.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "sys/guard/guard.h"
#include "sys/own_fd.h"
#include "sys/proc/spawn.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

static void read_all(int fd, struct buf *out)
{
    char bytes[4096];
    for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) != 0;) {
        if (n < 0 && errno != EINTR)
            return;
        buf_add(out, bytes, n > 0 ? (size_t)n : 0);
    }
}

/* The guard prints a status line that names the means, or else an error. */
static int parse_answer(const struct buf *status, struct buf *errors, struct buf *ret_means,
                        struct err *err)
{
    static const char prefix[] = "anabranch: ";
    autoarena struct arena a = {0};
    const struct node *line = doc_read_line(&a, status->s, status->len);
    if (line)
        buf_addstr(ret_means, node_get_string(line, "means", ""));
    if (line)
        return 0;
    const char *why =
        strncmp(errors->s, prefix, strlen(prefix)) == 0 ? errors->s + strlen(prefix) : errors->s;
    return err_set(err, ERR_ENV, "%.*s", (int)strcspn(why, "\n"),
                   *why ? why : "the guard ended at once");
}

static int start_guard(const char *self, const char *means, int life, int status, int errors,
                       pid_t *ret_pid, struct err *err)
{
    autostrv struct strv argv = {0};
    strv_pushl(&argv, self, "__guard", "--contain", means, "--", "true", NULL);
    struct spawn sp = {
        .argv = argv.v, .fds = {SPAWN_NULL, SPAWN_NULL, errors, life, status}, .new_session = true};
    return spawn_start(&sp, ret_pid, err);
}

int probe_guard(const char *self, const char *means, struct buf *ret_means, struct err *err)
{
    int life[2], status[2], errors[2];
    autobuf struct buf line = BUF_INIT, complaint = BUF_INIT;
    pid_t pid;
    if (spawn_pipe(life, err))
        return -1;
    autoclose int life_in = life[0], life_out = life[1];
    (void)life_out; /* open while we wait: the guard ends when it closes */
    if (spawn_pipe(status, err))
        return -1;
    autoclose int status_in = status[0], status_out = status[1];
    if (spawn_pipe(errors, err))
        return -1;
    autoclose int said_in = errors[0], said_out = errors[1];
    if (start_guard(self, means, life_in, status_out, said_out, &pid, err))
        return -1;
    (void)close(steal_fd(&status_out));
    (void)close(steal_fd(&said_out));
    read_all(status_in, &line);
    read_all(said_in, &complaint);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return parse_answer(&line, &complaint, ret_means, err);
}
