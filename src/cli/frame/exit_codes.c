#include "cli/frame/cli.h"

const struct exit_meaning cli_exit_codes[] = {
    {EXIT_OK, "Success"},
    {EXIT_TASK,
     "Some task failed or was skipped, or a thread changed paths that it does not own or did not "
     "converge"},
    {EXIT_USAGE, "The command line or the plan is wrong; nothing was changed"},
    {EXIT_ENV, "The machine, a file or another program failed"},
    {EXIT_CONFLICT, "A person must resolve a conflict, or the checkout could not follow"},
    {EXIT_SIGHUP, "Stopped by SIGHUP"},
    {EXIT_SIGINT, "Stopped by SIGINT (Ctrl-C)"},
    {EXIT_SIGTERM, "Stopped by SIGTERM"},
    {0},
};

const enum exit_code cli_usual_exits[] = {EXIT_USAGE, EXIT_ENV, EXIT_OK};

const enum exit_code cli_run_exits[] = {
    EXIT_TASK, EXIT_USAGE, EXIT_ENV, EXIT_CONFLICT, EXIT_SIGHUP, EXIT_SIGINT, EXIT_SIGTERM, EXIT_OK,
};
