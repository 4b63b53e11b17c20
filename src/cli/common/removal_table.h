/*
 * What commands show that take things away: what became of each, and how it went on the whole.
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
    int64_t bytes; /* that go with what was removed */
    bool partial;  /* it is more */
    int code;      /* of what could not be printed */
};

const char *removal_word(const struct removals *r, enum clean_action action);

/* Appends the word as a column, in its colour. */
void removal_add_word(const struct removals *r, enum clean_action action, struct buf *out);

/* Prints what was put together of one, and counts it. */
void removal_tell(struct removals *r, enum clean_action action, const struct buf *text);

/* Appends what goes from the disk with a thing that is removed, and adds it to the rest. */
void removal_add_bytes(struct removals *r, const struct clean_item *item, struct buf *out);

/* The exit code; `none` is printed where there was nothing at all. */
int removals_end(const struct removals *r, const char *none);

#endif
