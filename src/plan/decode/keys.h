/*
 * Decodes the values of a tree into C values by tables: one struct field per key of a mapping. If a
 * value is wrong, a reader adds a problem and leaves its slot unchanged.
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
    struct arena *a; /* for decoded values that are not in the tree */
    struct problems *ps;
    bool lenient; /* unknown keys are only warnings: the file belongs to a foreign tool */
};

struct field;
typedef void read_fn(struct reader *r, const struct node *node, const struct field *f, void *slot);

struct field {
    const char *name;           /* an entry without a name ends the table */
    read_fn *read;              /* NULL: a known key that is decoded elsewhere */
    size_t offset;              /* of the slot */
    const char *const *words;   /* for read_word: value is the index */
    const struct field *fields; /* for read_map: the slot is the start of the struct */
    int64_t min, max;           /* for numbers and durations */
    bool not_default;           /* not allowed under `defaults` */
};

/* Reads the members of a mapping. An unknown key is an error, with the nearest known key as a hint.
 * Keys that begin with "x-" belong to the user. Returns false if node is not a mapping. */
bool read_members(struct reader *r, const struct node *node, const struct field *fields, void *out);

/* Returns true if node has this kind; otherwise adds an error. */
bool read_expect(struct reader *r, const struct node *node, enum node_kind kind);

read_fn read_map;          /* by f->fields */
read_fn read_string;       /* const char *: not blank, and without NUL */
read_fn read_bool;         /* bool; YAML 1.1 words too */
read_fn read_int;          /* int64_t within min..max */
read_fn read_count;        /* int64_t within min..max, or a string with k, M, G */
read_fn read_usd;          /* double, not negative */
read_fn read_duration;     /* int64_t ms within min..max */
read_fn read_word;         /* int-sized enum, by f->words */
read_fn read_strings;      /* struct strings */
read_fn read_verification; /* the same, or a mapping with `command` and `clean` */
read_fn read_command;      /* struct plan_command: a string is a shell line, a list is an argv */
read_fn read_branch;       /* const char *: a branch name that git accepts */
read_fn read_branch_part;  /* const char *: part of a branch name that needs no quoting */

/* The text of a node that is a string or an integer (an id); for other nodes NULL, with an
 * error. */
const char *read_scalar_text(struct reader *r, const struct node *node);

/* Reads a word that is a boolean in YAML 1.1 and a string in YAML 1.2: 1 is yes, 0 is no, -1 is
 * neither. */
int read_old_boolean(const struct node *node);

#endif
