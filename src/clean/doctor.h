/*
 * What of this machine runs can use, found out by trying it. One row of a table each; whoever adds
 * an ability that not every machine has adds a row.
 */
#ifndef CLEAN_DOCTOR_H
#define CLEAN_DOCTOR_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_OK,
    VERDICT_NO,  /* not here; something else is used, or it is not needed by all */
    VERDICT_BAD, /* nothing can be run without it */
    VERDICT_COUNT_,
};

extern const char *const verdict_words[VERDICT_COUNT_]; /* "ok", "no", "bad" */

struct finding {
    const char *name; /* "contain.namespace" */
    const char *what; /* it is, for people */
    enum verdict verdict;
    struct buf why;       /* what was found, one line */
    int64_t count, bytes; /* of what is on the disk; -1: it is not about that */
    bool partial;         /* it takes more */
};

/* Tries row i of the table in the current folder; false behind the last one. `self` is the path of
 * this program. */
bool doctor_examine(size_t i, const char *self, struct finding *ret);
void finding_done(struct finding *f);

#endif
