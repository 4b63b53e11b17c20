#include "agent/engine/engine.h"

#include <signal.h>
#include <string.h>

/* Replaces "{prompt_file}" in a word by the file's path. */
static void push_template(struct strv *argv, const char *word, const char *prompt_file)
{
    static const char place[] = "{prompt_file}";
    autobuf struct buf out = BUF_INIT;
    for (const char *at; (at = strstr(word, place)); word = at + strlen(place)) {
        buf_add(&out, word, (size_t)(at - word));
        buf_addstr(&out, prompt_file);
    }
    buf_addstr(&out, word);
    strv_push(argv, out.s);
}

static int build_call(const struct task *task, const struct agent_context *ctx,
                      struct agent_call *call, struct err *err)
{
    (void)err;
    if (task->command.shell)
        strv_pushl(&call->argv, "/bin/sh", "-c", task->command.shell, NULL);
    for (size_t i = 0; i < task->command.argv.n; i++)
        push_template(&call->argv, task->command.argv.v[i], ctx->prompt_file);
    return 0;
}

const struct engine_def engine_command = {
    .build = build_call,
    .interrupt_signal = SIGTERM,
};
