/*
 * The command line: one table entry per command, from which parsing, --help, the man page's option
 * lists and the shells' completions are all made. Only this layer prints and exits.
 */
#ifndef CLI_FRAME_CLI_H
#define CLI_FRAME_CLI_H

#include "base/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The whole table of exit codes. */
enum exit_code {
    EXIT_OK = 0,        /* all well */
    EXIT_TASK = 1,      /* some task failed or was skipped, a thread strayed */
    EXIT_USAGE = 2,     /* usage or plan error: nothing was changed */
    EXIT_ENV = 3,       /* environment or runner error */
    EXIT_CONFLICT = 4,  /* a conflict was left for a person, or the checkout could not follow */
    EXIT_SIGHUP = 129,  /* stopped by SIGHUP */
    EXIT_SIGINT = 130,  /* stopped by SIGINT */
    EXIT_SIGTERM = 143, /* stopped by SIGTERM */
};

/* What each code means, for help and the man page; ends with an entry without a meaning. */
struct exit_meaning {
    enum exit_code code;
    const char *meaning;
};
extern const struct exit_meaning cli_exit_codes[];

/* Those of a command that carries out a run; EXIT_OK ends the list. */
extern const enum exit_code cli_run_exits[];

enum opt_kind {
    OPT_FLAG,   /* bool */
    OPT_STRING, /* const char * */
    OPT_CHOICE, /* int: the index of the word in `choices`; 0, the first, where it is not given */
    OPT_WAY,    /* the same; without a value, as a flag, it is the second */
    OPT_COUNT,  /* int64_t from 1 on, with k/M/G or KiB/MiB/GiB */
    OPT_LIST,   /* struct opt_list: may be given several times */
};

/* All values of an option, in their order; freed behind the command's back. */
struct opt_list {
    const char **v;
    size_t n, cap;
};

/* One option. `offset` is the place of its value in the command's own options struct. */
struct opt {
    const char *name; /* "graph" for --graph; an entry without a name ends the table */
    char letter;      /* 'g' for -g, or 0 */
    enum opt_kind kind;
    size_t offset;
    const char *arg;            /* "FORMAT", what the value is called in help; NULL for flags */
    const char *const *choices; /* for OPT_CHOICE, NULL-terminated */
    const char *help;           /* one sentence, without a full stop */
};

/* One positional argument. */
struct arg {
    const char *name; /* "PLAN" */
    const char *help;
    bool optional;
    bool file;                  /* completed with file names */
    bool command;               /* completed with the commands and topics that help knows */
    bool parallel_for;          /* only for the last one: may be given several times */
    const char *const *choices; /* must be one of these words, NULL-terminated; NULL: any word */
};

struct command {
    const char *name;
    const char *summary; /* one line, for the list of commands */
    const char *about;   /* paragraphs for its own help and the man page; NULL: summary is enough */
    const char *examples;        /* lines "anabranch check plan.md\tWhat it does\n..." or NULL */
    const struct arg *args;      /* ends with an entry without a name; NULL: none */
    const struct opt *opts;      /* ends likewise; NULL: only the common ones */
    size_t options_size;         /* sizeof the struct that opts' offsets are in */
    bool minus_numbers;          /* -1 is an argument, and no option */
    bool hidden;                 /* for the program's own use: not in help and completions */
    const enum exit_code *exits; /* explained in its help; EXIT_OK ends the list; or NULL */
    const char *see_also;        /* "anabranch-plan(5)", or NULL */

    /* options is zeroed, then filled by the parser; argv holds the positional arguments, NULL at
     * the end, their number already checked against args. Returns the exit code. */
    int (*run)(const void *options, int argc, char **argv);
};

/* All commands, in the order in which help lists them, and their number. */
extern const struct command *const cli_commands[];
extern const size_t cli_command_count;

const struct command *cli_find(const char *name); /* NULL where there is none */

/* The program: looks up the command, parses, runs. */
int cli_main(int argc, char **argv);

/* The words that it was called with, NULL at the end; parsing may have changed their order. */
extern char **cli_words;

/* Options that every command takes (--help, --color), ends with an entry without a name. */
extern const struct opt cli_common_opts[];

/* Prints help of the whole program (NULL) or of one command; returns the exit code. */
int cli_help(const struct command *cmd);

/* Prints a message behind `before`, which is ours, on standard error: one line that is harmless
 * whatever the message quotes. */
void cli_say(const char *before, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Prints "anabranch: message" on standard error, as one line that is harmless whatever the message
 * quotes, and returns code. */
int cli_fail(enum exit_code code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int cli_fail_by(const struct err *err); /* EXIT_USAGE for an ERR_INPUT, else EXIT_ENV */

/* A wrong call of a command (NULL: of the program): message, where to read more; returns
 * EXIT_USAGE. */
int cli_usage(const struct command *cmd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Says that we wait for someone. */
void cli_waiting(const char *whom);

/* Says that a signal has stopped the command (sys/interrupt.h), and more; returns the exit code. */
int cli_stopped(const char *more);

/* Writes to standard output, and looks at the result. Returns EXIT_OK; EXIT_ENV, with a message,
 * where the output is closed or full; 128 + SIGPIPE, silently, where the reader left early. */
int cli_print(const char *s, size_t len);

#endif
