#include "cli/completion/completion.h"

#include "cli/frame/commands.h"
#include "cli/frame/options.h"

static const char head[] =
    "# bash completion of anabranch, printed by 'anabranch completion bash'\n"
    "# shellcheck shell=bash\n";

/* bash hands over "--color=auto" as three words or, where COMP_WORDBREAKS lacks the '=', as one. */
static const char tail[] =
    "\n"
    "# Completes $cur with WORDS, or with the names of files.\n"
    "_anabranch_reply() # WORDS|@file\n"
    "{\n"
    "    local word\n"
    "    if [[ $1 == @file ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        set -- -f\n"
    "    else\n"
    "        set -- -W \"$1\"\n"
    "    fi\n"
    "    while IFS= read -r word; do\n"
    "        COMPREPLY+=(\"$prefix$word\")\n"
    "    done < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_anabranch()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prefix='' command='' option='' only='' word words i\n"
    "    local index=0\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ -n $option ]]; then\n"
    "            [[ $word == '=' ]] || option=''\n"
    "        elif [[ -z $only && $word == -- ]]; then\n"
    "            only=arguments\n"
    "        elif [[ -z $only && $word == -* ]]; then\n"
    "            _anabranch_values \"$command\" \"$word\" && option=$word\n"
    "        elif [[ -z $command ]]; then\n"
    "            command=$word\n"
    "        else\n"
    "            index=$((index + 1))\n"
    "        fi\n"
    "    done\n"
    "    if [[ -n $option && $cur == '=' ]]; then\n"
    "        cur=''\n"
    "    elif [[ -z $option && -z $only && $cur == --*=* ]]; then\n"
    "        option=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}\n"
    "    fi\n"
    "    if [[ -n $option ]]; then\n"
    "        _anabranch_values \"$command\" \"$option\" || return 0\n"
    "    elif [[ -z $only && $cur == -* ]]; then\n"
    "        _anabranch_options \"$command\"\n"
    "    else\n"
    "        _anabranch_arguments \"$command\" \"$index\"\n"
    "    fi\n"
    "    _anabranch_reply \"$words\"\n"
    "}\n"
    "\n"
    "complete -F _anabranch anabranch\n";

static void begin_function(struct buf *out, const char *about, const char *name, const char *word)
{
    buf_addf(out, "\n# %s\n%s\n{\n    case %s in\n", about, name, word);
}

static void end_function(struct buf *out, const char *otherwise)
{
    buf_addf(out, "    *) %s ;;\n    esac\n}\n", otherwise);
}

static void add_value(struct buf *out, const char *command, const struct opt *opt)
{
    if (opt->kind == OPT_FLAG || opt->kind == OPT_OPTIONAL_CHOICE) /* the next word is no value */
        return;
    buf_addf(out, "    %s:--%s", command, opt->name);
    if (opt->letter)
        buf_addf(out, " | %s:-%c", command, opt->letter);
    buf_addstr(out, ") words='");
    if (opt->choices)
        options_add_words(out, opt->choices, " ", " ");
    else if (opt->kind == OPT_STRING || opt->kind == OPT_LIST)
        buf_addstr(out, "@file");
    buf_addstr(out, "' ;;\n");
}

static void add_values(struct buf *out)
{
    const struct command *cmd;
    begin_function(out, "Sets $words to the values of an option; fails where it takes none.",
                   "_anabranch_values() # COMMAND OPTION", "$1:$2");
    for (size_t i = 0; (cmd = cli_next(&i));) {
        for (const struct opt *o = cmd->opts; o && o->name; o++)
            add_value(out, cmd->name, o);
    }
    for (const struct opt *o = cli_common_opts; o->name; o++)
        add_value(out, "*", o);
    end_function(out, "return 1");
}

static void add_option_names(struct buf *out, const struct command *cmd)
{
    const struct opt *opt;
    buf_addf(out, "    %s) words='", cmd ? cmd->name : "''");
    for (size_t i = 0; (opt = options_at(cmd, i)); i++)
        buf_addf(out, "%s--%s", i ? " " : "", opt->name);
    buf_addstr(out, "' ;;\n");
}

static void add_options(struct buf *out)
{
    const struct command *cmd;
    begin_function(out, "Sets $words to the options of a command.",
                   "_anabranch_options() # COMMAND", "$1");
    add_option_names(out, NULL);
    for (size_t i = 0; (cmd = cli_next(&i));)
        add_option_names(out, cmd);
    end_function(out, "words=''");
}

static void add_argument(struct buf *out, const struct command *cmd, const struct arg *arg)
{
    if (arg->repeatable)
        buf_addf(out, "    %s:*) words='", cmd->name);
    else
        buf_addf(out, "    %s:%zu) words='", cmd->name, (size_t)(arg - cmd->args));
    if (arg->file)
        buf_addstr(out, "@file");
    completion_add_words(out, arg);
    buf_addstr(out, "' ;;\n");
}

static void add_arguments(struct buf *out)
{
    const struct command *cmd;
    begin_function(out, "Sets $words to what the argument at INDEX of a command may be.",
                   "_anabranch_arguments() # COMMAND INDEX", "$1:$2");
    buf_addstr(out, "    :0) words='");
    for (size_t i = 0; (cmd = cli_next(&i));)
        buf_addf(out, "%s%s", i > 1 ? " " : "", cmd->name);
    buf_addstr(out, "' ;;\n");
    for (size_t i = 0; (cmd = cli_next(&i));) {
        for (const struct arg *a = cmd->args; a && a->name; a++)
            add_argument(out, cmd, a);
    }
    end_function(out, "words=''");
}

void completion_bash(struct buf *out)
{
    buf_addstr(out, head);
    add_values(out);
    add_options(out);
    add_arguments(out);
    buf_addstr(out, tail);
}
