/*
 * The parts of help that the man page shares, and the topics of `anabranch help` that are not
 * commands.
 */
#ifndef CLI_FRAME_HELP_H
#define CLI_FRAME_HELP_H

#include "base/strv.h"
#include "cli/frame/cli.h"

/* Prints one of cli_topics. Returns the exit code. */
int help_topic(const char *topic);

/* Appends the words of the usage line after "anabranch": "check", "[--graph FORMAT]", "PLAN". */
void help_usage_words(const struct command *cmd, struct strv *out);

/* Reads the next line of a command's examples: the call and its purpose ("" if the table has none).
 * Returns false after the last. The caller frees both. */
bool help_next_example(const char **examples, char **ret_call, char **ret_what);

#endif
