/*
 * Options and arguments of one call, read with getopt_long under the tables of cli.h.
 */
#ifndef CLI_FRAME_OPTIONS_H
#define CLI_FRAME_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/frame/cli.h"

#include <stdbool.h>
#include <stddef.h>

/* Values of the options that every command takes, and of those of the program itself. */
struct common_options {
    bool help;
    bool version;
    int color; /* enum color_when */
};

/* The i-th option of a command (NULL: of the program): its own first, then those that every command
 * takes; NULL behind the last. */
const struct opt *options_at(const struct command *cmd, size_t i);

/* Reads the options among argv[1] and following. Values of cmd's own options go into values, those
 * of the others into common, which keeps what it holds where an option is not given. argv is
 * reordered so that the positional arguments are argv[*ret_first] and following; without a cmd
 * reading stops at the first of them. A wrong option is ERR_INPUT. */
int options_parse(const struct command *cmd, int argc, char **argv, void *values,
                  struct common_options *common, int *ret_first, struct err *err);

/* Releases what options_parse() put into values, also where that failed. */
void options_done(const struct command *cmd, void *values);

/* Looks whether argv (NULL at the end) is what the command takes as arguments. ERR_INPUT if not. */
int options_check_args(const struct command *cmd, char **argv, struct err *err);

/* Appends the words of a NULL-terminated list, with `comma` between two and `last` before the last.
 */
void options_add_words(struct buf *out, const char *const *words, const char *comma,
                       const char *last);

#endif
