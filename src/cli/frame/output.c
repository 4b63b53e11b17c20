#include "cli/frame/output.h"

#include "base/text/text.h"
#include "cli/frame/cli.h"
#include "doc/doc.h"
#include "sys/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

/* We open /dev/null in the wrong direction, so that reading a closed input and writing to a closed
 * output still fail. */
static const int closed_flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};

int output_begin(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        if (open("/dev/null", closed_flags[fd]) != fd)
            return -1;
    }
    return 0;
}

void cli_say(const char *before, const char *fmt, va_list ap)
{
    autobuf struct buf raw = BUF_INIT;
    autobuf struct buf line = BUF_INIT;
    buf_addv(&raw, fmt, ap);
    buf_addstr(&line, before);
    text_harmless(&line, raw.s, raw.len);
    buf_addch(&line, '\n');
    (void)fputs(line.s, stderr);
}

int cli_fail(enum exit_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cli_say("anabranch: ", fmt, ap);
    va_end(ap);
    return code;
}

int cli_fail_by(const struct err *err)
{
    return cli_fail(err->code == ERR_INPUT ? EXIT_USAGE : EXIT_ENV, "%s", err->msg);
}

void cli_waiting(const char *whom)
{
    (void)cli_fail(EXIT_OK, "waiting for %s", whom);
    (void)fflush(stderr);
}

int cli_stopped(const char *more)
{
    bool by_key = interrupt_signal() == SIGINT;
    return cli_fail(by_key ? EXIT_SIGINT : EXIT_SIGTERM, "stopped by a signal: %s", more);
}

int cli_usage(const struct command *cmd, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cli_say("anabranch: ", fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "See 'anabranch %s%s--help'.\n", cmd ? cmd->name : "", cmd ? " " : "");
    return EXIT_USAGE;
}

/* We report the failure once, although cli_print() and output_end() both see it. */
static int write_failed(void)
{
    static int code;
    if (!code && errno == EPIPE)
        code = 128 + SIGPIPE;
    else if (!code)
        code = cli_fail(EXIT_ENV, "cannot write to standard output: %s", strerror(errno));
    return code;
}

int cli_print(const char *s, size_t len)
{
    if (fwrite(s, 1, len, stdout) != len || fflush(stdout) != 0)
        return write_failed();
    return EXIT_OK;
}

int cli_print_json(const struct node *root)
{
    autobuf struct buf out = BUF_INIT;
    doc_write_whole_line(&out, root);
    return cli_print(out.s, out.len);
}

int output_end(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        int failed = write_failed();
        return code == EXIT_OK ? failed : code;
    }
    return code;
}
