/*
 * Reading values of a tree into C values, by tables: one struct field per key of a mapping. A
 * reader that finds something wrong adds a problem and leaves its slot as it was.
 */
#ifndef PLAN_DECODE_KEYS_H
#define PLAN_DECODE_KEYS_H

#include "base/arena.h"
#include "base/node/node.h"
#include "base/node/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    struct arena *a; /* what is read lives here, or in the tree */
    struct problems *ps;
    bool lenient; /* keys that nobody reads are warnings: the file is a foreign tool's */
};

struct field;
typedef void read_fn(struct reader *r, const struct node *node, const struct field *f, void *slot);

struct field {
    const char *name;           /* an entry without a name ends the table */
    read_fn *read;              /* NULL: known here, read elsewhere */
    size_t offset;              /* of the slot */
    const char *const *words;   /* for read_word: value is the index */
    const struct field *fields; /* for read_map: the slot is the start of the struct */
    int64_t min, max;           /* for numbers and durations */
    bool not_default;           /* a task's own: may not be under `defaults` */
};

/* Reads the members of a mapping; unknown keys are errors with the nearest known one as the hint.
 * Keys that begin with "x-" are the user's own. False where node is not a mapping. */
bool read_members(struct reader *r, const struct node *node, const struct field *fields, void *out);

/* Whether node is of the kind; adds the error where it is not. */
bool read_expect(struct reader *r, const struct node *node, enum node_kind kind);

read_fn read_map;          /* by f->fields */
read_fn read_string;       /* const char *: not blank, one that C can hold */
read_fn read_bool;         /* bool; YAML 1.1 words too */
read_fn read_int;          /* int64_t within min..max */
read_fn read_count;        /* int64_t within min..max, or a string with k, M, G */
read_fn read_usd;          /* double, not negative */
read_fn read_duration;     /* int64_t ms within min..max */
read_fn read_word;         /* int-sized enum, by f->words */
read_fn read_strings;      /* struct strings */
read_fn read_verification; /* the same, or a mapping of that as `command`, and `clean` */
read_fn read_command;      /* struct plan_command: a string is a shell line, a list is an argv */
read_fn read_branch;       /* const char *: a branch name that git accepts */
read_fn read_branch_part;  /* const char *: a part of one that needs no quoting */

/* The string of a node that may be written as a string or as an integer (an id); NULL, with an
 * error, where it is neither. */
const char *read_scalar_text(struct reader *r, const struct node *node);

/* What YAML 1.1 calls a boolean and YAML 1.2 a string: 1 is yes, 0 is no, -1 is neither. */
int read_old_boolean(const struct node *node);

#endif
