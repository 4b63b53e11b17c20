/*
 * struct problems: everything that is wrong with an input, collected so that it can be reported at
 * once. Nothing here prints: problem_format() gives the line that the command line shows.
 */
#ifndef BASE_NODE_PROBLEM_H
#define BASE_NODE_PROBLEM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/node/node.h"
#include "base/vec.h"

enum severity { PROBLEM_WARNING, PROBLEM_ERROR };

/* What kind of rule was broken: the stable word that `check --json` gives. The first group is what
 * a JSON Schema can express as well; a test holds the two against each other. */
enum rule {
    RULE_TYPE,     /* not the kind of value that the key takes */
    RULE_REQUIRED, /* a key is missing */
    RULE_UNKNOWN,  /* a key that nobody reads */
    RULE_VALUE,    /* right type, wrong value: range, pattern, not one of the words */
    RULE_SCHEMA_END_,

    RULE_SYNTAX = RULE_SCHEMA_END_, /* the document could not be read */
    RULE_COMBINATION, /* keys that do not go together, or one that another one needs */
    RULE_FILE,        /* a file or folder that the plan names is not there or not usable */
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
    const char *path;    /* where in the tree, "" for the document itself */
    const char *message; /* one line, control characters already harmless */
    const char *hint;    /* what to do about it, or NULL */
    size_t seq;
};

struct problems {
    struct arena arena;
    const char *file; /* name shown in front of every line */
    VEC(struct problem) list;
    size_t errors, warnings;
};

void problems_init(struct problems *ps, const char *file); /* copies file */
void problems_done(struct problems *ps);
#define autoproblems own_cleanup(problems_done)

/* Adds an error or a warning about node. Formatted text is made harmless for terminals. Always
 * returns -1, so that a check can end with it. */
int problem_error(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));
int problem_warn(struct problems *ps, enum rule rule, const struct node *node, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same about a key rather than its value, and about a bare position (for syntax errors). */
int problem_error_key(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                      ...) __attribute__((format(printf, 4, 5)));
int problem_warn_key(struct problems *ps, enum rule rule, const struct node *node, const char *fmt,
                     ...) __attribute__((format(printf, 4, 5)));
int problem_error_at(struct problems *ps, enum rule rule, struct pos pos, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a hint to the problem that was added last. Always returns -1. */
int problem_hint(struct problems *ps, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Orders by position; problems at one position stay in the order in which they were found. What a
 * value that is read for several tasks gave several times is then there once. */
void problems_sort(struct problems *ps);

const char *rule_name(enum rule rule);

/* "file:line:col: path: message", with "warning: " in front of the path of warnings, and the hint
 * on a line of its own. */
void problem_format(const struct problems *ps, const struct problem *p, struct buf *out);

#endif
