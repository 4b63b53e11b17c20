/*
 * Completion scripts, made from the tables of commands and options.
 */
#ifndef CLI_COMPLETION_COMPLETION_H
#define CLI_COMPLETION_COMPLETION_H

#include "base/buf.h"
#include "cli/frame/cli.h"

/* Each appends the whole script for one shell. */
void completion_bash(struct buf *out);
void completion_zsh(struct buf *out);
void completion_fish(struct buf *out);

/* Appends the words that an argument is completed with, a space between two; none for files. */
void completion_add_words(struct buf *out, const struct arg *arg);

#endif
