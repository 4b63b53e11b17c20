#include "cli/completion/completion.h"

#include "cli/frame/commands.h"
#include "cli/frame/options.h"

#include <string.h>

static const char head[] = "#compdef anabranch\n"
                           "# zsh completion of anabranch, printed by 'anabranch completion zsh'\n";

/* As a file in fpath the script is the body of _anabranch; read with source it registers it. */
static const char tail[] = "\n"
                           "if [[ ${funcstack[1]} == _anabranch ]]; then\n"
                           "    _anabranch \"$@\"\n"
                           "else\n"
                           "    compdef _anabranch anabranch\n"
                           "fi\n";

#define NEXT " \\\n            " /* to the next argument of _arguments */

/* Text inside single quotes, where _arguments and _describe give ':', '[' and ']' a meaning. */
static void add_text(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            buf_addstr(out, "'\\'");
        else if (strchr(":[]\\", *s))
            buf_addch(out, '\\');
        buf_addch(out, *s);
    }
}

static void add_commands(struct buf *out)
{
    const struct command *cmd;
    buf_addstr(out, "\n_anabranch_commands() {\n    local -a commands=(\n");
    for (size_t i = 0; (cmd = cli_next(&i));) {
        buf_addf(out, "        '%s:", cmd->name);
        add_text(out, cmd->summary);
        buf_addstr(out, "'\n");
    }
    buf_addstr(out, "    )\n    _describe -t commands command commands\n}\n");
}

static void add_value(struct buf *out, const struct opt *opt)
{
    buf_addf(out, "%s:%s:", opt->kind == OPT_OPTIONAL_CHOICE ? ":" : "", opt->arg);
    if (opt->choices) {
        buf_addch(out, '(');
        options_add_words(out, opt->choices, " ", " ");
        buf_addch(out, ')');
    } else if (opt->kind == OPT_STRING || opt->kind == OPT_LIST) {
        buf_addstr(out, "_files");
    }
}

/* '+' and '=' after an option allow its value in the same word as well as in the next. */
static void add_opt(struct buf *out, const struct opt *opt)
{
    bool value = opt->kind != OPT_FLAG;
    const char *name = opt->name;
    char c = opt->letter;
    bool again = opt->kind == OPT_LIST;
    buf_addstr(out, again ? NEXT "'*'" : NEXT);
    if (c && again)
        buf_addf(out, "{-%c+,--%s=}'[", c, name);
    else if (c)
        buf_addf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", c, name, c, value ? "+" : "", name,
                 value ? "=" : "");
    else
        buf_addf(out, "'--%s%s[", name, opt->kind == OPT_OPTIONAL_CHOICE ? "=-" : value ? "=" : "");
    add_text(out, opt->help);
    buf_addch(out, ']');
    if (value)
        add_value(out, opt);
    buf_addch(out, '\'');
}

static void add_opts(struct buf *out, const struct command *cmd)
{
    const struct opt *opt;
    for (size_t i = 0; (opt = options_at(cmd, i)); i++)
        add_opt(out, opt);
}

static void add_arg(struct buf *out, const struct arg *arg)
{
    const char *optional = arg->optional ? ":" : "";
    buf_addf(out, NEXT "'%s:%s%s:", arg->repeatable ? "*" : "", optional, arg->name);
    if (arg->file) {
        buf_addstr(out, "_files'");
        return;
    }
    buf_addch(out, '(');
    completion_add_words(out, arg);
    buf_addstr(out, ")'");
}

static void add_command(struct buf *out, const struct command *cmd)
{
    buf_addf(out, "    %s)\n        _arguments -s -S", cmd->name);
    add_opts(out, cmd);
    for (const struct arg *a = cmd->args; a && a->name; a++)
        add_arg(out, a);
    buf_addstr(out, " && ret=0\n        ;;\n");
}

void completion_zsh(struct buf *out)
{
    const struct command *cmd;
    buf_addstr(out, head);
    add_commands(out);
    buf_addstr(out, "\n_anabranch() {\n"
                    "    local curcontext=$curcontext state state_descr line ret=1\n"
                    "    typeset -A opt_args\n"
                    "    _arguments -C");
    add_opts(out, NULL);
    buf_addstr(out, NEXT "'1: :_anabranch_commands' '*:: :->arguments' && ret=0\n"
                         "    [[ $state == arguments ]] || return ret\n"
                         "    curcontext=${curcontext%:*:*}:anabranch-$words[1]:\n"
                         "    case $words[1] in\n");
    for (size_t i = 0; (cmd = cli_next(&i));)
        add_command(out, cmd);
    buf_addstr(out, "    esac\n    return ret\n}\n");
    buf_addstr(out, tail);
}
