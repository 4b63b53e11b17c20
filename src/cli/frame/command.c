#include "base/mem.h"
#include "base/own.h"
#include "base/text/text.h"
#include "base/vec.h"
#include "cli/frame/cli.h"
#include "cli/frame/color.h"
#include "cli/frame/commands.h"
#include "cli/frame/options.h"

#include <string.h>

const struct command *const cli_commands[] = {
    &cmd_check,    &cmd_run,        &cmd_streams, &cmd_resume,   &cmd_say,        &cmd_retry,
    &cmd_rehearse, &cmd_fanout,     &cmd_own,     &cmd_converge, &cmd_cleanup,    &cmd_status,
    &cmd_serve,    &cmd_top,        &cmd_stop,    &cmd_skip,     &cmd_pause,      &cmd_continue,
    &cmd_workers,  &cmd_budget,     &cmd_logs,    &cmd_diff,     &cmd_shell,      &cmd_materialise,
    &cmd_warm,     &cmd_history,    &cmd_cost,    &cmd_explain,  &cmd_engines,    &cmd_report,
    &cmd_salvage,  &cmd_clean,      &cmd_init,    &cmd_convert,  &cmd_skill,      &cmd_doctor,
    &cmd_help,     &cmd_completion, &cmd_man,     &cmd_sim,      &cmd_own_commit, &cmd_own_hook,
    &cmd_bring,    &cmd_remove,     &cmd_warden,  &cmd_inside,   &cmd_snapshot,   &cmd_fill,
    &cmd_replay,
};
const size_t cli_command_count = ARRAY_LEN(cli_commands);

const char *const cli_topics[] = {"exit-codes", NULL};

const struct command *cli_find(const char *name)
{
    for (size_t i = 0; i < cli_command_count; i++) {
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    }
    return NULL;
}

const struct command *cli_next(size_t *i)
{
    while (*i < cli_command_count) {
        const struct command *cmd = cli_commands[(*i)++];
        if (!cmd->hidden)
            return cmd;
    }
    return NULL;
}

int cli_unknown(const char *name, bool topics)
{
    VEC(const char *) names = {0};
    const struct command *cmd;
    for (size_t i = 0; (cmd = cli_next(&i));)
        vec_push(&names, cmd->name);
    for (size_t i = 0; topics && cli_topics[i]; i++)
        vec_push(&names, cli_topics[i]);
    const char *meant = text_nearest(name, names.v, names.n);
    vec_done(&names);
    if (!meant)
        return cli_usage(NULL, "'%s' is not a command", name);
    return cli_usage(NULL, "'%s' is not a command; did you mean '%s'?", name, meant);
}

static int run_parsed(const struct command *cmd, int argc, char **argv, void *values,
                      struct common_options *common)
{
    struct err err;
    int first;
    if (options_parse(cmd, argc, argv, values, common, &first, &err) < 0)
        return cli_usage(cmd, "%s", err.msg);
    color_set((enum color_when)common->color);
    if (common->help)
        return cli_help(cmd);
    if (options_check_args(cmd, argv + first, &err) < 0)
        return cli_usage(cmd, "%s", err.msg);
    return cmd->run(values, argv + first);
}

static bool is_minus_number(const char *word)
{
    return word[0] == '-' && word[1] && strspn(word + 1, "0123456789") == strlen(word + 1);
}

/* Moves negative numbers behind a "--", so that the parser does not read them as options. */
static char **move_numbers_last(int *argc, char **argv)
{
    VEC(char *) words = {0}, numbers = {0};
    for (int i = 0; i < *argc; i++) {
        if (is_minus_number(argv[i]))
            vec_push(&numbers, argv[i]);
        else
            vec_push(&words, argv[i]);
    }
    if (numbers.n)
        vec_push(&words, (char *)"--");
    for (size_t i = 0; i < numbers.n; i++)
        vec_push(&words, numbers.v[i]);
    *argc = (int)words.n;
    vec_push(&words, NULL);
    vec_done(&numbers);
    return words.v;
}

static int run_command(const struct command *cmd, int argc, char **argv,
                       struct common_options *common)
{
    autofree char **sorted = cmd->negative_numbers ? move_numbers_last(&argc, argv) : NULL;
    argv = sorted ? sorted : argv;
    autofree void *values = mem_alloc(cmd->options_size + 1); /* there may be no options */
    int code = run_parsed(cmd, argc, argv, values, common);
    options_done(cmd, values);
    return code;
}

static int print_version(void)
{
    static const char version[] = "anabranch " ANABRANCH_VERSION "\n";
    return cli_print(version, strlen(version));
}

char **cli_words;

int cli_main(int argc, char **argv)
{
    cli_words = argv;
    struct common_options common = {0};
    struct err err;
    int first;
    if (options_parse(NULL, argc, argv, NULL, &common, &first, &err) < 0)
        return cli_usage(NULL, "%s", err.msg);
    color_set((enum color_when)common.color);
    if (common.version)
        return print_version();
    if (first >= argc)
        return cli_help(NULL);
    const struct command *cmd = cli_find(argv[first]);
    if (!cmd)
        return cli_unknown(argv[first], false);
    return run_command(cmd, argc - first, argv + first, &common);
}
