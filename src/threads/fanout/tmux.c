#include "threads/fanout/tmux.h"

#include "base/mem.h"
#include "base/text/shell_quote.h"
#include "sys/proc/capture.h"

#include <errno.h>
#include <string.h>

enum { OUTPUT_MAX = 1 << 20 };

/* Names the session after the repository's folder, without characters that mean something in a
 * target. */
static char *get_session_name(const struct fanout *f)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *end = strrchr(f->work, '/'), *start = end;
    while (start > f->work && start[-1] != '/')
        start--;
    char *name = mem_printf("anabranch-%.*s", (int)(end - start), start);
    for (char *c = name; *(c += strspn(c, allowed)); c++)
        *c = '-';
    return name;
}

/* tmux reads a folder as a format, in which ## stands for #. */
static char *quote_format(const char *path)
{
    autobuf struct buf out = BUF_INIT;
    for (; *path; path++)
        buf_addrep(&out, *path, *path == '#' ? 2 : 1);
    return buf_steal(&out);
}

/* The arguments that make the window of a thread. The first one also makes the session. */
static void add_window(const struct thread *t, const char *session, bool first, struct strv *argv)
{
    autofree char *dir = quote_format(t->path);
    if (first)
        strv_pushl(argv, "tmux", "new-session", "-d", "-s", session, "-n", NULL);
    else
        strv_pushl(argv, "tmux", "new-window", "-d", "-t", NULL), strv_pushf(argv, "%s:", session),
            strv_push(argv, "-n");
    strv_pushf(argv, "thread-%s", t->id);
    strv_pushl(argv, "-c", dir, NULL);
}

static void add_line(const struct strv *argv, struct buf *out)
{
    buf_addstr(out, argv->v[0]);
    for (size_t i = 1; i < argv->n; i++)
        shell_quote(out, "", argv->v[i], NULL);
    buf_addch(out, '\n');
}

void tmux_add_commands(const struct fanout *f, struct buf *out)
{
    autofree char *session = get_session_name(f);
    for (size_t i = 0; i < f->fresh.n; i++) {
        autostrv struct strv argv = {0};
        add_window(&f->fresh.v[i], session, i == 0, &argv);
        add_line(&argv, out);
    }
    buf_addf(out, "tmux attach -t %s\n", session);
}

/* *ret_status is the exit status of tmux. */
static int run_tmux(const struct strv *argv, int *ret_status, struct buf *errout, struct err *err)
{
    autobuf struct buf out = BUF_INIT;
    struct err why = {0};
    if (proc_capture(argv->v, NULL, OUTPUT_MAX, &out, errout, ret_status, &why) == 0)
        return 0;
    if (why.errnum == ENOENT)
        return err_set(err, ERR_ENV, "'tmux' was not found: install it, or omit --tmux");
    return err_set(err, why.code, "%s", why.msg);
}

int tmux_check(struct err *err)
{
    autostrv struct strv argv = {0};
    int status;
    strv_pushl(&argv, "tmux", "-V", NULL);
    return run_tmux(&argv, &status, NULL, err);
}

static int has_session(const char *session, bool *ret_yes, struct err *err)
{
    autostrv struct strv argv = {0};
    int status;
    strv_pushl(&argv, "tmux", "has-session", "-t", NULL);
    strv_pushf(&argv, "=%s", session);
    if (run_tmux(&argv, &status, NULL, err))
        return -1;
    *ret_yes = status == 0;
    return 0;
}

int tmux_start(const struct fanout *f, char **ret_show, struct err *err)
{
    autofree char *session = get_session_name(f);
    bool exists;
    if (has_session(session, &exists, err))
        return -1;
    for (size_t i = 0; i < f->fresh.n; i++) {
        autostrv struct strv argv = {0};
        autobuf struct buf errout = BUF_INIT;
        int status;
        add_window(&f->fresh.v[i], session, i == 0 && !exists, &argv);
        if (run_tmux(&argv, &status, &errout, err))
            return -1;
        if (status != 0)
            return err_set(err, ERR_ENV, "tmux: %.*s", (int)strcspn(errout.s, "\n"), errout.s);
    }
    *ret_show = mem_printf("tmux attach -t %s", session);
    return 0;
}
