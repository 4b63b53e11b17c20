/* The generated part of anabranch(1), in scdoc's language. */
#include "base/mem.h"
#include "base/strv.h"
#include "cli/frame/commands.h"
#include "cli/frame/help.h"
#include "cli/frame/options.h"

#include <string.h>

struct man_options {
    bool list;
};

/* True if scdoc reads this character as markup: some everywhere, others at the beginning of a line.
 */
static bool is_mark(const char *text, const char *at)
{
    bool begins = at == text || at[-1] == '\n';
    return strchr("\\*_", *at) || (begins && strchr("#|[];-`", *at));
}

static void add_text(struct buf *out, const char *s)
{
    for (const char *at = s; *at; at++) {
        if (is_mark(s, at))
            buf_addch(out, '\\');
        buf_addch(out, *at);
    }
}

static void add_bold(struct buf *out, const char *s)
{
    buf_addch(out, '*');
    add_text(out, s);
    buf_addch(out, '*');
}

/* The text of an entry is one line after a tab. */
static void add_entry_text(struct buf *out, const char *s, const char *const *choices)
{
    buf_addch(out, '\t');
    add_text(out, s);
    if (choices) {
        buf_addstr(out, ": ");
        options_add_words(out, choices, ", ", " or ");
    }
    buf_addstr(out, ".\n\n");
}

static void add_opt(struct buf *out, const struct opt *opt)
{
    if (opt->letter)
        buf_addf(out, "*-%c*, ", opt->letter);
    buf_addf(out, "*--%s*", opt->name);
    if (opt->arg)
        buf_addf(out, opt->kind == OPT_OPTIONAL_CHOICE ? "[=_%s_]" : " _%s_", opt->arg);
    buf_addch(out, '\n');
    add_entry_text(out, opt->help, opt->choices);
}

static void add_arg(struct buf *out, const struct arg *arg)
{
    buf_addf(out, "_%s_\n", arg->name);
    add_entry_text(out, arg->help, arg->choices);
}

static void add_examples(struct buf *out, const char *examples)
{
    char *call, *what;
    while (help_next_example(&examples, &call, &what)) {
        add_bold(out, call);
        buf_addch(out, '\n');
        add_entry_text(out, what, NULL);
        free(call);
        free(what);
    }
}

static void add_usage(struct buf *out, const struct command *cmd)
{
    autostrv struct strv words = {0};
    help_usage_words(cmd, &words);
    buf_addstr(out, "*anabranch*");
    for (size_t i = 0; i < words.n; i++) {
        buf_addch(out, ' ');
        add_text(out, words.v[i]);
    }
    buf_addstr(out, "\n\n");
}

static void add_command(struct buf *out, const struct command *cmd)
{
    buf_addf(out, "## %s\n\n", cmd->name);
    add_usage(out, cmd);
    add_text(out, cmd->about ? cmd->about : cmd->summary);
    buf_addstr(out, cmd->about ? "\n\n" : ".\n\n");
    for (const struct arg *a = cmd->args; a && a->name; a++)
        add_arg(out, a);
    for (const struct opt *o = cmd->opts; o && o->name; o++)
        add_opt(out, o);
    add_examples(out, cmd->examples);
}

static void add_options(struct buf *out)
{
    const struct opt *opt;
    buf_addstr(out, "# OPTIONS\n\nEvery command takes these.\n\n");
    for (opt = cli_common_opts; opt->name; opt++)
        add_opt(out, opt);
    buf_addstr(out, "Without a command there is also:\n\n");
    for (size_t i = 0; (opt = options_at(NULL, i)) && opt != cli_common_opts; i++)
        add_opt(out, opt);
}

static void add_exit_codes(struct buf *out)
{
    buf_addstr(out, "# EXIT STATUS\n\n");
    for (const struct exit_meaning *m = cli_exit_codes; m->meaning; m++) {
        buf_addf(out, "*%d*\n", m->code);
        add_entry_text(out, m->meaning, NULL);
    }
}

static void add_all(struct buf *out)
{
    const struct command *cmd;
    buf_addstr(out, "# COMMANDS\n\n");
    for (size_t i = 0; (cmd = cli_next(&i));)
        add_command(out, cmd);
    add_options(out);
    add_exit_codes(out);
}

static void add_list(struct buf *out)
{
    for (size_t i = 0; i < cli_command_count; i++)
        buf_addf(out, "%s\n", cli_commands[i]->name);
}

static int run_man(const void *options, char **argv)
{
    const struct man_options *o = options;
    autobuf struct buf out = BUF_INIT;
    if (o->list)
        add_list(&out);
    else if (!argv[0])
        add_all(&out);
    for (; *argv; argv++) {
        const struct command *cmd = cli_find(*argv);
        if (!cmd)
            return cli_unknown(*argv, false);
        add_command(&out, cmd);
    }
    return cli_print(out.s, out.len);
}

static const struct arg args[] = {
    {.name = "COMMAND",
     .help = "Print only these commands",
     .optional = true,
     .command = true,
     .repeatable = true},
    {0},
};

static const struct opt opts[] = {
    {.name = "list",
     .kind = OPT_FLAG,
     .offset = offsetof(struct man_options, list),
     .help = "Print the names of all commands instead"},
    {0},
};

const struct command cmd_man = {
    .name = "__man",
    .summary = "Print the commands, options and exit codes for the man page",
    .args = args,
    .opts = opts,
    .options_size = sizeof(struct man_options),
    .hidden = true,
    .run = run_man,
};
