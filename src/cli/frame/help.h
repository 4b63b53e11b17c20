/*
 * The parts of help that the man page shares, and the topics of `anabranch help` that are no
 * command.
 */
#ifndef CLI_FRAME_HELP_H
#define CLI_FRAME_HELP_H

#include "base/strv.h"
#include "cli/frame/cli.h"

/* Prints one of cli_topics; returns the exit code. */
int help_topic(const char *topic);

/* The words of the usage line that follow "anabranch": "check", "[--graph FORMAT]", "PLAN". */
void help_usage_words(const struct command *cmd, struct strv *out);

/* The next line of a command's examples, as the call and what it does ("" where the table does not
 * say); false behind the last. The two are for the caller to free. */
bool help_next_example(const char **examples, char **ret_call, char **ret_what);

#endif
