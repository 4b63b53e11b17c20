/*
 * The command line: one table entry per command. We make parsing, --help, the man page and the
 * shells' completions from these tables. Only this room prints and exits.
 */
#ifndef CLI_FRAME_CLI_H
#define CLI_FRAME_CLI_H

#include "base/err.h"
#include "base/node/node.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All exit codes. */
enum exit_code {
    EXIT_OK = 0,        /* success */
    EXIT_TASK = 1,      /* some task failed or was skipped, or a thread left its paths */
    EXIT_USAGE = 2,     /* usage or plan error: nothing was changed */
    EXIT_ENV = 3,       /* environment or runner error */
    EXIT_CONFLICT = 4,  /* a person must resolve a conflict, or the checkout could not follow */
    EXIT_SIGHUP = 129,  /* stopped by SIGHUP */
    EXIT_SIGINT = 130,  /* stopped by SIGINT */
    EXIT_SIGTERM = 143, /* stopped by SIGTERM */
};

/* The meaning of each code, for help and the man page. An entry without a meaning ends the table.
 */
struct exit_meaning {
    enum exit_code code;
    const char *meaning;
};
extern const struct exit_meaning cli_exit_codes[];

/* The codes of most commands, and of those that carry out a run; EXIT_OK ends each list. */
extern const enum exit_code cli_usual_exits[], cli_run_exits[];

enum opt_kind {
    OPT_FLAG,            /* bool */
    OPT_STRING,          /* const char * */
    OPT_CHOICE,          /* int: the index of the word in `choices`; 0 by default */
    OPT_OPTIONAL_CHOICE, /* the same; without a value: 1 */
    OPT_COUNT,           /* int64_t from 1 on, with k/M/G or KiB/MiB/GiB */
    OPT_LIST,            /* struct opt_list: may be given several times */
};

/* All values of an option, in their order. options_done() frees them. */
struct opt_list {
    const char **v;
    size_t n, cap;
};

/* One option. `offset` is the offset of its value in the command's options struct. */
struct opt {
    const char *name; /* "graph" for --graph; an entry without a name ends the table */
    char letter;      /* 'g' for -g, or 0 */
    enum opt_kind kind;
    size_t offset;
    const char *arg;            /* "FORMAT": the name of the value in help; NULL for flags */
    const char *const *choices; /* for OPT_CHOICE, NULL-terminated */
    const char *help;           /* one sentence, without a full stop */
};

/* One positional argument. */
struct arg {
    const char *name; /* "PLAN" */
    const char *help;
    bool optional;
    bool file;                  /* shells complete file names */
    bool command;               /* shells complete commands and help topics */
    bool repeatable;            /* may be given several times; only for the last argument */
    const char *const *choices; /* must be one of these words, NULL-terminated; NULL: any word */
};

struct command {
    const char *name;
    const char *summary;         /* one line, for the list of commands */
    const char *about;           /* paragraphs for its help and the man page, or NULL */
    const char *examples;        /* lines "anabranch check plan.md\tIts purpose\n..." or NULL */
    const struct arg *args;      /* ends with an entry without a name; NULL: none */
    const struct opt *opts;      /* ends in the same way; NULL: only the common ones */
    size_t options_size;         /* size of the options struct */
    bool negative_numbers;       /* -1 is an argument, not an option */
    bool hidden;                 /* internal: not in help and completions */
    const enum exit_code *exits; /* for its help; EXIT_OK ends the list; or NULL */
    const char *see_also;        /* "anabranch-plan(5)", or NULL */

    /* The parser has zeroed and filled options. argv holds the positional arguments, with NULL at
     * the end; the parser has checked their number. Returns the exit code. */
    int (*run)(const void *options, char **argv);
};

/* All commands, in the order of the help, and their number. */
extern const struct command *const cli_commands[];
extern const size_t cli_command_count;

const struct command *cli_find(const char *name); /* NULL if there is none */

/* Runs the program: finds the command, parses its options, calls it. */
int cli_main(int argc, char **argv);

/* argv of the program. Parsing may have changed its order. */
extern char **cli_words;

/* Options of every command (--help, --color). An entry without a name ends the table. */
extern const struct opt cli_common_opts[];

/* Prints help of the whole program (NULL) or of one command; returns the exit code. */
int cli_help(const struct command *cmd);

/* Prints `before` and the message on standard error, as one line. We mask control characters in the
 * message, because it may quote untrusted text. */
void cli_say(const char *before, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Prints "anabranch: message" in the same way, and returns code. */
int cli_fail(enum exit_code code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int cli_fail_by(const struct err *err); /* EXIT_USAGE for ERR_INPUT, else EXIT_ENV */

/* Reports a wrong call of a command (NULL: of the program): prints the message and a pointer to the
 * help. Returns EXIT_USAGE. */
int cli_usage(const struct command *cmd, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints "waiting for ...". */
void cli_waiting(const char *whom);

/* Prints that a signal has stopped the command (sys/interrupt.h), then `more`. Returns the exit
 * code. */
int cli_stopped(const char *more);

/* Writes to standard output and flushes it. Returns EXIT_OK; EXIT_ENV, with a message, if the
 * output is closed or full; 128 + SIGPIPE, without a message, if the reader left early. */
int cli_print(const char *s, size_t len);

int cli_print_json(const struct node *root); /* the same for a tree, as one line of JSON */

#endif
