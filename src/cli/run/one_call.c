#include "cli/run/one_call.h"

int one_call(const struct command *cmd, const struct one_opts *opts, const char *task,
             const char *say)
{
    autolook struct lookup look;
    struct resume_call rc = {
        .cmd = cmd,
        .run_call = &opts->call,
        .engine_exe = opts->engine_exe,
        .keep = opts->keep,
        .saved = true,
        .task = task,
        .say = say,
        .fresh = opts->fresh,
    };
    int code = lookup_open_repair(&look, true);
    return code == EXIT_OK ? resume_call(&look, opts->run ? opts->run : "last", &rc) : code;
}
