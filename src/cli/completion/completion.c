#include "cli/completion/completion.h"

#include "cli/frame/commands.h"
#include "cli/frame/options.h"

static void add_help_words(struct buf *out)
{
    const struct command *cmd;
    for (size_t i = 0; (cmd = cli_next(&i));)
        buf_addf(out, "%s ", cmd->name);
    options_add_words(out, cli_topics, " ", " ");
}

void completion_add_words(struct buf *out, const struct arg *arg)
{
    if (arg->command)
        add_help_words(out);
    else if (arg->choices)
        options_add_words(out, arg->choices, " ", " ");
}
