/*
 * Lines of shell in a folder, mostly for git, without the configuration of the user and the
 * system.
 */
#ifndef TESTS_UNIT_SHELL_H
#define TESTS_UNIT_SHELL_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "sys/proc/capture.h"

/* Returns the output of the line; the caller frees it. */
static char *shell(const char *dir, const char *line)
{
    autofree char *script =
        mem_printf("cd '%s' && export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null "
                   "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a "
                   "GIT_COMMITTER_EMAIL=a && %s",
                   dir, line);
    char *const argv[] = {(char *)"sh", (char *)"-c", script, NULL};
    autobuf struct buf out = BUF_INIT;
    int status;
    assert_int_equal(proc_capture(argv, NULL, 1 << 20, &out, NULL, &status, NULL), 0);
    if (status != 0)
        fail_msg("%s: %d", line, status);
    return buf_steal(&out);
}

#endif
