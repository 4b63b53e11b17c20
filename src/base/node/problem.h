/*
 * struct problems: everything that is wrong with an input, collected so that we can report it at
 * once. Nothing here prints: problem_format() formats one problem as the command line shows it.
 */
#ifndef BASE_NODE_PROBLEM_H
#define BASE_NODE_PROBLEM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/node/node.h"
#include "base/vec.h"

enum severity { PROBLEM_WARNING, PROBLEM_ERROR };

/* The kind of rule that was broken; `check --json` prints its name. A JSON Schema can express the
 * first group as well; a test compares the schema with our checks. */
enum rule {
    RULE_TYPE,     /* the key takes another type of value */
    RULE_REQUIRED, /* a key is missing */
    RULE_UNKNOWN,  /* an unknown key */
    RULE_VALUE, /* right type, wrong value: out of range, no match, not one of the allowed words */
    RULE_SCHEMA_END_,

    RULE_SYNTAX = RULE_SCHEMA_END_, /* the document could not be read */
    RULE_COMBINATION, /* keys that exclude each other, or a key that needs another one */
    RULE_FILE,        /* a file or folder that the plan names is missing or unusable */
    RULE_DUPLICATE,   /* the same id or branch twice */
    RULE_DEPENDENCY,  /* undefined, self, cycle */
    RULE_GROUP,       /* a group without a limit, a limit without a group */
    RULE_ENV,         /* a variable that a plan may not set */
    RULE_WEBHOOK,     /* an address that a plan may not call */
    RULE_CLAIM,       /* a path that is malformed or leaves the repository */
    RULE_OVERLAP,     /* two tasks that claim the same path */
    RULE_COUNT_,
};

struct problem {
    enum severity severity;
    enum rule rule;
    struct pos pos;
    const char *path;    /* path in the tree, "" for the document itself */
    const char *message; /* one line, control characters escaped */
    const char *hint;    /* how to fix it, or NULL */
    size_t seq;
};

struct problems {
    struct arena arena;
    const char *file; /* file name, shown at the start of every line */
    VEC(struct problem) list;
    size_t errors, warnings;
};

void problems_init(struct problems *ps, const char *file); /* copies file */
void problems_done(struct problems *ps);
#define autoproblems own_cleanup(problems_done)

/* Add an error or a warning about node. They escape control characters of the formatted text. They
 * always return -1, so that a check can end with such a call. */
int problem_error(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));
int problem_warn(struct problems *ps, enum rule rule, const struct node *node, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same about a key instead of its value, and about a bare position (for syntax errors). */
int problem_error_key(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                      ...) __attribute__((format(printf, 4, 5)));
int problem_warn_key(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));
int problem_error_at(struct problems *ps, enum rule rule, struct pos pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a hint to the last problem. Always returns -1. */
int problem_hint(struct problems *ps, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sorts by position; problems at one position keep their order. If a value is read for several
 * tasks, its problem occurs several times: only one stays. */
void problems_sort(struct problems *ps);

const char *rule_name(enum rule rule);

/* Appends "file:line:col: path: message", with "warning: " before the path of warnings, and the
 * hint on its own line. */
void problem_format(const struct problems *ps, const struct problem *p, struct buf *out);

#endif
