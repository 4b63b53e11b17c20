#include "cli/frame/options.h"

#include "base/text/text.h"
#include "base/vec.h"
#include "cli/frame/color.h"

#include <getopt.h>
#include <stdint.h>
#include <string.h>

static const char *const color_words[] = {
    [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL};

const struct opt cli_common_opts[] = {
    {.name = "color",
     .kind = OPT_CHOICE,
     .offset = offsetof(struct common_options, color),
     .arg = "WHEN",
     .choices = color_words,
     .help = "Use colours in the output"},
    {.name = "help",
     .letter = 'h',
     .kind = OPT_FLAG,
     .offset = offsetof(struct common_options, help),
     .help = "Show this help"},
    {0},
};

static const struct opt program_opts[] = {
    {.name = "version",
     .kind = OPT_FLAG,
     .offset = offsetof(struct common_options, version),
     .help = "Show the version of anabranch"},
    {0},
};

static size_t count_opts(const struct opt *opts)
{
    size_t n = 0;
    while (opts && opts[n].name)
        n++;
    return n;
}

static const struct opt *own_opts(const struct command *cmd)
{
    return cmd ? cmd->opts : program_opts;
}

const struct opt *options_at(const struct command *cmd, size_t i)
{
    size_t own = count_opts(own_opts(cmd));
    if (i < own)
        return &own_opts(cmd)[i];
    const struct opt *opt = &cli_common_opts[i - own];
    return i - own < count_opts(cli_common_opts) ? opt : NULL;
}

void options_add_words(struct buf *out, const char *const *words, const char *comma,
                       const char *last)
{
    for (size_t i = 0; words[i]; i++) {
        if (i)
            buf_addstr(out, words[i + 1] ? comma : last);
        buf_addstr(out, words[i]);
    }
}

/* getopt_long() returns LONG_BASE + i for the i-th option, or its letter. */
enum { LONG_BASE = 256 };

struct parser {
    const struct command *cmd;
    struct buf letters;
    VEC(struct option) longs;
    VEC(const char *) names; /* the same again, as text_nearest() takes them */
};

static void parser_done(struct parser *p)
{
    buf_done(&p->letters);
    vec_done(&p->longs);
    vec_done(&p->names);
}

static void parser_init(struct parser *p, const struct command *cmd)
{
    *p = (struct parser){.cmd = cmd, .letters = BUF_INIT};
    buf_addstr(&p->letters, cmd ? ":" : "+:");
    const struct opt *opt;
    for (size_t i = 0; (opt = options_at(cmd, i)); i++) {
        bool value = opt->kind != OPT_FLAG;
        vec_push(&p->longs,
                 (struct option){.name = opt->name,
                                 .has_arg = opt->kind == OPT_OPTIONAL_CHOICE ? optional_argument
                                            : value                          ? required_argument
                                                                             : no_argument,
                                 .val = LONG_BASE + (int)i});
        vec_push(&p->names, opt->name);
        if (opt->letter)
            buf_addf(&p->letters, "%c%s", opt->letter, value ? ":" : "");
    }
    vec_push(&p->longs, (struct option){0});
}

static const struct opt *find_opt(const struct parser *p, int val)
{
    if (val >= LONG_BASE)
        return options_at(p->cmd, (size_t)(val - LONG_BASE));
    const struct opt *opt;
    for (size_t i = 0; (opt = options_at(p->cmd, i)); i++) {
        if (opt->letter && opt->letter == val)
            return opt;
    }
    return NULL;
}

static const char *get_owner_name(const struct parser *p)
{
    return p->cmd ? p->cmd->name : "anabranch";
}

static int fail_unknown(const struct parser *p, const char *given, const char *meant,
                        struct err *err)
{
    if (!meant)
        return err_set(err, ERR_INPUT, "'%s' is not an option of %s", given, get_owner_name(p));
    return err_set(err, ERR_INPUT, "'%s' is not an option of %s; did you mean '--%s'?", given,
                   get_owner_name(p), meant);
}

/* getopt_long refused this long option: it is the beginning of several names, or of none. */
static int fail_long(const struct parser *p, const char *word, struct err *err)
{
    autofree char *given = mem_dup(word, strcspn(word, "="));
    const char *name = given + strlen("--");
    VEC(const char *) found = {0};
    for (size_t i = 0; i < p->names.n; i++) {
        if (strncmp(p->names.v[i], name, strlen(name)) == 0)
            vec_push(&found, p->names.v[i]);
    }
    vec_push(&found, NULL);
    if (found.n > 2) {
        autobuf struct buf list = BUF_INIT;
        options_add_words(&list, found.v, ", --", " or --");
        err_set(err, ERR_INPUT, "'%s' could be --%s", given, list.s);
    } else {
        fail_unknown(p, given, text_nearest(name, p->names.v, p->names.n), err);
    }
    vec_done(&found);
    return -1;
}

/* getopt_long refused this letter. The user may have written a long option with one dash. */
static int fail_letter(const struct parser *p, int letter, char **argv, struct err *err)
{
    for (char **word = argv + 1; *word && strcmp(*word, "--") != 0; word++) {
        for (size_t i = 0; **word == '-' && i < p->names.n; i++) {
            if (strcmp(*word + 1, p->names.v[i]) == 0)
                return fail_unknown(p, *word, p->names.v[i], err);
        }
    }
    const char given[] = {'-', (char)letter, '\0'};
    return fail_unknown(p, given, NULL, err);
}

static int fail_option(const struct parser *p, int val, char **argv, struct err *err)
{
    if (val == 0)
        return fail_long(p, argv[optind - 1], err);
    if (val < LONG_BASE)
        return fail_letter(p, val, argv, err);
    return err_set(err, ERR_INPUT, "option '--%s' takes no value", find_opt(p, val)->name);
}

static int fail_missing_value(const struct opt *opt, struct err *err)
{
    if (!opt->choices)
        return err_set(err, ERR_INPUT, "option '--%s' needs a value: %s", opt->name, opt->arg);
    autobuf struct buf words = BUF_INIT;
    options_add_words(&words, opt->choices, ", ", " or ");
    return err_set(err, ERR_INPUT, "option '--%s' needs a value: %s", opt->name, words.s);
}

/* Returns the index of word among the choices, or -1. owner names the option or argument. */
static int find_choice(const char *const *choices, const char *word, const char *owner,
                       struct err *err)
{
    size_t n = 0;
    for (; choices[n]; n++) {
        if (strcmp(choices[n], word) == 0)
            return (int)n;
    }
    const char *meant = text_nearest(word, choices, n);
    if (meant)
        return err_set(err, ERR_INPUT, "'%s' is not a value of %s; did you mean '%s'?", word, owner,
                       meant);
    autobuf struct buf words = BUF_INIT;
    options_add_words(&words, choices, ", ", " or ");
    return err_set(err, ERR_INPUT, "'%s' is not a value of %s, which takes %s", word, owner,
                   words.s);
}

static int set_choice(const struct opt *opt, const char *word, int *place, struct err *err)
{
    autofree char *owner = mem_printf("'--%s'", opt->name);
    int choice = word ? find_choice(opt->choices, word, owner, err) : 1;
    if (choice < 0)
        return -1;
    *place = choice;
    return 0;
}

static int set_count(const struct opt *opt, const char *word, int64_t *place, struct err *err)
{
    int64_t count = text_parse_count(word, strlen(word));
    if (count == 0)
        return err_set(err, ERR_INPUT, "'--%s' must be at least 1", opt->name);
    if (count < 0)
        return err_set(err, ERR_INPUT, "'%s' is not a number for '--%s', such as 200, 64k or 2GiB",
                       word, opt->name);
    *place = count;
    return 0;
}

static int set_value(const struct opt *opt, const char *word, void *place, struct err *err)
{
    switch (opt->kind) {
    case OPT_FLAG:
        *(bool *)place = true;
        return 0;
    case OPT_STRING:
        *(const char **)place = word;
        return 0;
    case OPT_CHOICE:
    case OPT_OPTIONAL_CHOICE:
        return set_choice(opt, word, place, err);
    case OPT_COUNT:
        return set_count(opt, word, place, err);
    case OPT_LIST:
        vec_push((struct opt_list *)place, word);
        return 0;
    }
    return -1;
}

static bool is_command_opt(const struct command *cmd, const struct opt *opt)
{
    return cmd && opt >= cmd->opts && opt < cmd->opts + count_opts(cmd->opts);
}

static int parse_options(const struct parser *p, int argc, char **argv, void *values,
                         struct common_options *common, struct err *err)
{
    opterr = 0;
    optind = 0; /* reset getopt, which may have been used before */
    int val;
    while ((val = getopt_long(argc, argv, p->letters.s, p->longs.v, NULL)) != -1) {
        if (val == '?')
            return fail_option(p, optopt, argv, err);
        if (val == ':')
            return fail_missing_value(find_opt(p, optopt), err);
        const struct opt *opt = find_opt(p, val);
        char *base = is_command_opt(p->cmd, opt) ? values : (void *)common;
        if (set_value(opt, optarg, base + opt->offset, err) < 0)
            return -1;
    }
    return 0;
}

int options_parse(const struct command *cmd, int argc, char **argv, void *values,
                  struct common_options *common, int *ret_first, struct err *err)
{
    struct parser p own_cleanup(parser_done);
    parser_init(&p, cmd);
    if (parse_options(&p, argc, argv, values, common, err) < 0)
        return -1;
    *ret_first = optind;
    return 0;
}

void options_done(const struct command *cmd, void *values)
{
    for (const struct opt *opt = cmd->opts; opt && opt->name; opt++) {
        if (opt->kind == OPT_LIST)
            vec_done((struct opt_list *)((char *)values + opt->offset));
    }
}

static int fail_missing_arg(const struct arg *arg, struct err *err)
{
    autobuf struct buf words = BUF_INIT;
    if (arg->choices) {
        buf_addstr(&words, ": ");
        options_add_words(&words, arg->choices, ", ", " or ");
    }
    return err_set(err, ERR_INPUT, "the argument %s is missing%s", arg->name, words.s);
}

int options_check_args(const struct command *cmd, char **argv, struct err *err)
{
    const struct arg *arg = cmd->args;
    bool repeated = false;
    for (; *argv && arg && arg->name; argv++) {
        if (arg->choices && find_choice(arg->choices, *argv, arg->name, err) < 0)
            return -1;
        repeated = arg->repeatable;
        arg += !repeated;
    }
    if (*argv)
        return err_set(err, ERR_INPUT, "unexpected argument '%s'", *argv);
    if (arg && arg->name && !arg->optional && !repeated)
        return fail_missing_arg(arg, err);
    return 0;
}
