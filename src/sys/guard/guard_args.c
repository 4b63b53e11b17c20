#include "sys/guard/guard_args.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void add_number(struct strv *argv, const char *option, int64_t value)
{
    if (value <= 0)
        return;
    strv_push(argv, option);
    strv_pushf(argv, "%lld", (long long)value);
}

static void add_path(struct strv *argv, const char *option, const char *path)
{
    if (path)
        strv_pushl(argv, option, path, NULL);
}

void guard_args_format(const struct guard_options *opts, struct strv *argv)
{
    add_path(argv, "--file", opts->file);
    add_path(argv, "--hide", opts->hiding.folder);
    add_path(argv, "--open", opts->hiding.open);
    add_path(argv, "--shown", opts->hiding.shown);
    add_number(argv, "--signal", opts->interrupt_signal);
    add_number(argv, "--grace", opts->grace);
    if (opts->contain != CONTAIN_ANY)
        strv_pushl(argv, "--contain", contain_words[opts->contain], NULL);
    add_number(argv, "--memory", opts->limits.memory);
    add_number(argv, "--processes", opts->limits.processes);
    if (opts->limits.cpu > 0) {
        strv_push(argv, "--cpu");
        strv_pushf(argv, "%g", opts->limits.cpu);
    }
    strv_push(argv, "--");
    for (char *const *arg = opts->argv; *arg; arg++)
        strv_push(argv, *arg);
}

static int take_option(const char *option, char *value, struct guard_options *ret, struct err *err)
{
    if (!value)
        return err_set(err, ERR_INPUT, "option '%s' needs a value", option);
    if (strcmp(option, "--file") == 0)
        ret->file = value;
    else if (strcmp(option, "--hide") == 0)
        ret->hiding.folder = value;
    else if (strcmp(option, "--open") == 0)
        ret->hiding.open = value;
    else if (strcmp(option, "--shown") == 0)
        ret->hiding.shown = value;
    else if (strcmp(option, "--signal") == 0)
        ret->interrupt_signal = (int)strtol(value, NULL, 10);
    else if (strcmp(option, "--grace") == 0)
        ret->grace = strtoll(value, NULL, 10);
    else if (strcmp(option, "--program") == 0)
        ret->program = true;
    else if (strcmp(option, "--contain") == 0)
        return contain_named(value, &ret->contain, err);
    else if (strcmp(option, "--memory") == 0)
        ret->limits.memory = strtoll(value, NULL, 10);
    else if (strcmp(option, "--processes") == 0)
        ret->limits.processes = strtoll(value, NULL, 10);
    else if (strcmp(option, "--cpu") == 0)
        ret->limits.cpu = strtod(value, NULL);
    else
        return err_set(err, ERR_INPUT, "'%s' is not an option of a guard", option);
    return 0;
}

int guard_args_parse(char **argv, struct guard_options *ret, struct err *err)
{
    *ret = (struct guard_options){.interrupt_signal = SIGTERM};
    for (; *argv && strcmp(*argv, "--") != 0; argv += 2) {
        if (take_option(argv[0], argv[1], ret, err))
            return -1;
    }
    if (!*argv || !argv[1])
        return err_set(err, ERR_INPUT, "a guard needs a command, behind '--'");
    ret->argv = argv + 1;
    return 0;
}

int guard_main(char **argv, struct err *err)
{
    struct guard_options opts;
    return guard_args_parse(argv, &opts, err) || guard_run(&opts, err) ? -1 : 0;
}
