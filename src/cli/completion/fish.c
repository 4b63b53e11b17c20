#include "cli/completion/completion.h"

#include "base/text/text.h"
#include "cli/frame/commands.h"
#include "cli/frame/options.h"

static const char head[] =
    "# fish completion of anabranch, printed by 'anabranch completion fish'\n"
    "\n"
    "# Is the command of the line this one? Without an argument: is there none yet?\n"
    "function __anabranch_at\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    while set -q words[1]\n"
    "        switch $words[1]\n";

static const char middle[] = "                set -e words[1]\n"
                             "            case '-*'\n"
                             "            case '*'\n"
                             "                test \"$words[1]\" = \"$argv\"\n"
                             "                return\n"
                             "        end\n"
                             "        set -e words[1]\n"
                             "    end\n"
                             "    not set -q argv[1]\n"
                             "end\n"
                             "\n"
                             "complete -c anabranch -f\n";

static void add_quoted(struct buf *out, const char *s)
{
    buf_addch(out, '\'');
    text_escape(out, s, "'\\");
    buf_addch(out, '\'');
}

static void add_head(struct buf *out)
{
    const struct opt *opt;
    buf_addstr(out, head);
    buf_addstr(out, "            case");
    for (size_t i = 0; (opt = options_at(NULL, i)); i++) {
        if (opt->kind != OPT_FLAG)
            buf_addf(out, " --%s", opt->name);
    }
    buf_addch(out, '\n');
    buf_addstr(out, middle);
}

/* Begins a line that holds for one command, for the program (""), or for all (NULL). */
static void begin_line(struct buf *out, const char *command)
{
    buf_addstr(out, "complete -c anabranch");
    if (command)
        buf_addf(out, " -n '__anabranch_at%s%s'", *command ? " " : "", command);
}

static void add_opt(struct buf *out, const char *command, const struct opt *opt)
{
    begin_line(out, command);
    buf_addf(out, " -l %s", opt->name);
    if (opt->letter)
        buf_addf(out, " -s %c", opt->letter);
    if (opt->kind != OPT_FLAG && opt->kind != OPT_OPTIONAL_CHOICE)
        buf_addstr(out, opt->kind == OPT_STRING || opt->kind == OPT_LIST ? " -r -F" : " -x");
    if (opt->choices) {
        buf_addstr(out, " -a '");
        options_add_words(out, opt->choices, " ", " ");
        buf_addch(out, '\'');
    }
    buf_addstr(out, " -d ");
    add_quoted(out, opt->help);
    buf_addch(out, '\n');
}

static void add_arg(struct buf *out, const char *command, const struct arg *arg)
{
    begin_line(out, command);
    if (arg->file) {
        buf_addstr(out, " -F\n");
        return;
    }
    buf_addstr(out, " -a '");
    completion_add_words(out, arg);
    buf_addstr(out, "'\n");
}

static void add_command(struct buf *out, const struct command *cmd)
{
    buf_addch(out, '\n');
    begin_line(out, "");
    buf_addf(out, " -a %s -d ", cmd->name);
    add_quoted(out, cmd->summary);
    buf_addch(out, '\n');
    for (const struct arg *a = cmd->args; a && a->name; a++)
        add_arg(out, cmd->name, a);
    for (const struct opt *o = cmd->opts; o && o->name; o++)
        add_opt(out, cmd->name, o);
}

void completion_fish(struct buf *out)
{
    const struct opt *opt;
    const struct command *cmd;
    add_head(out);
    for (size_t i = 0; (opt = options_at(NULL, i)) && opt != cli_common_opts; i++)
        add_opt(out, "", opt);
    for (opt = cli_common_opts; opt->name; opt++)
        add_opt(out, NULL, opt);
    for (size_t i = 0; (cmd = cli_next(&i));)
        add_command(out, cmd);
}
