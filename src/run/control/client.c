#include "run/control/client.h"

#include "base/node/node_build.h"
#include "base/own.h"
#include "doc/doc.h"
#include "run/control/socket.h"
#include "run/state/run_folder.h"
#include "sys/clock.h"
#include "sys/own_fd.h"
#include "sys/proc/socket.h"

#include <string.h>

enum { PATIENCE_MS = 10000, STEP = 4096, ANSWER_MAX = 1 << 20 };

/* A run that does not listen may still be running: its lock tells. */
static int fail_connect(const char *dir, struct err *err)
{
    autoclose int lock = -1;
    struct err none = {0};
    if (run_folder_lock(dir, &lock, &none) == 0 && lock < 0)
        return err_wrap(err, "the run is running, but cannot be reached");
    return err_set(err, ERR_INPUT, "the run is not running");
}

static int read_line(int fd, int64_t patience_ms, struct buf *line, struct err *err)
{
    int64_t end = clock_mono() + patience_ms;
    while (!memchr(line->s, '\n', line->len)) {
        int64_t left = end - clock_mono();
        if (!socket_wait(fd, left > 0 ? left : 0))
            return err_set(err, ERR_ENV, "the run does not answer; was it stopped by ^Z?");
        if (!socket_take(fd, STEP, line) || line->len > ANSWER_MAX)
            return err_set(err, ERR_ENV, "the run ended before it answered");
    }
    return 0;
}

int control_ask(const char *dir, const struct node *request, int64_t patience_ms, struct arena *a,
                const struct node **ret_answer, struct err *err)
{
    autobuf struct buf line = BUF_INIT, answer_line = BUF_INIT;
    struct err gone = {0};
    autoclose int fd = -1;
    doc_write_line(&line, request);
    buf_addch(&line, '\n');
    if (line.len > LISTENER_LINE_MAX)
        return err_set(err, ERR_INPUT, "the request is too long: %zu bytes", line.len);
    if (socket_connect(dir, LISTENER_SOCKET, &fd, err))
        return fail_connect(dir, err);
    if (!socket_send(fd, line.s, line.len)) {
        (void)err_sys(&gone, "talk to the run");
        patience_ms = 0; /* if the run refused us, its answer has already arrived */
    }
    if (read_line(fd, patience_ms, &answer_line, err))
        return gone.code ? err_set(err, gone.code, "%s", gone.msg) : -1;
    buf_cut(&answer_line, strcspn(answer_line.s, "\n"));
    *ret_answer = doc_read_line(a, answer_line.s, answer_line.len);
    return 0;
}

bool control_says(const struct node *answer, const char *key)
{
    return node_get_bool(answer, key);
}

int control_call_within(const char *dir, const struct node *request, int64_t patience_ms,
                        bool *ret_done, struct buf *ret_text, struct err *err)
{
    struct arena a = {0};
    const struct node *answer = NULL;
    int rc = control_ask(dir, request, patience_ms, &a, &answer, err);
    if (rc == 0) {
        *ret_done = control_says(answer, "ok");
        buf_addstr(ret_text, node_get_string(answer, "text", "the run's answer cannot be read"));
    }
    arena_done(&a);
    return rc;
}

int control_call(const char *dir, const struct node *request, bool *ret_done, struct buf *ret_text,
                 struct err *err)
{
    return control_call_within(dir, request, PATIENCE_MS, ret_done, ret_text, err);
}
