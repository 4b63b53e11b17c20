/*
 * Reads the options and arguments of one call with getopt_long, by the tables of cli.h.
 */
#ifndef CLI_FRAME_OPTIONS_H
#define CLI_FRAME_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/frame/cli.h"

#include <stdbool.h>
#include <stddef.h>

/* The values of the common options and of the program's own options. */
struct common_options {
    bool help;
    bool version;
    int color; /* enum color_when */
};

/* Returns the i-th option of a command (NULL: of the program), its own first, then the common ones.
 * NULL after the last. */
const struct opt *options_at(const struct command *cmd, size_t i);

/* Parses the options from argv[1] on. Values of cmd's own options go into `values`, all others into
 * `common`; an option that is not given changes nothing. We reorder argv so that the positional
 * arguments begin at argv[*ret_first]. Without a cmd we stop at the first of them. A wrong option
 * is ERR_INPUT. */
int options_parse(const struct command *cmd, int argc, char **argv, void *values,
                  struct common_options *common, int *ret_first, struct err *err);

/* Frees the values, also if options_parse() failed. */
void options_done(const struct command *cmd, void *values);

/* Checks argv (NULL at the end) against the arguments of the command. ERR_INPUT if they differ. */
int options_check_args(const struct command *cmd, char **argv, struct err *err);

/* Appends the words of a NULL-terminated list, with `comma` between them and `last` before the
 * last.
 */
void options_add_words(struct buf *out, const char *const *words, const char *comma,
                       const char *last);

#endif
