/*
 * The output of commands that remove things: the result of each removal, and the total.
 */
#ifndef CLI_COMMON_REMOVAL_TABLE_H
#define CLI_COMMON_REMOVAL_TABLE_H

#include "base/buf.h"
#include "clean/clean.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct removals {
    bool dry_run, json;
    size_t count[CLEAN_DELETING + 1];
    int64_t bytes; /* size of the removed things */
    bool partial;  /* the real size is larger */
    int code;      /* the exit code of a failed print */
};

const char *removal_word(const struct removals *r, enum clean_action action);

/* Appends the word as a coloured column. */
void removal_add_word(const struct removals *r, enum clean_action action, struct buf *out);

/* Prints the line of one removal, and counts it. */
void removal_tell(struct removals *r, enum clean_action action, const struct buf *text);

/* Appends the disk space of a removed thing, and adds it to the total. */
void removal_add_bytes(struct removals *r, const struct clean_item *item, struct buf *out);

/* Prints the total, or `none` if there was nothing to remove. Returns the exit code. */
int removals_end(const struct removals *r, const char *none);

#endif
