/*
 * Finds out what runs can use on this machine, by trying it. Each ability is a row of a table; to
 * add an ability, add a row.
 */
#ifndef CLEAN_DOCTOR_H
#define CLEAN_DOCTOR_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_OK,
    VERDICT_NO,  /* not available; runs use something else, or few need it */
    VERDICT_BAD, /* no run works without it */
    VERDICT_COUNT_,
};

extern const char *const verdict_words[VERDICT_COUNT_]; /* "ok", "no", "bad" */

struct finding {
    const char *name; /* such as "contain.namespace" */
    const char *what; /* the same, for people */
    enum verdict verdict;
    struct buf why;       /* the result, one line */
    int64_t count, bytes; /* disk space and number of files; -1: not about the disk */
    bool partial;         /* it takes more space than `bytes` */
};

/* Tries row i of the table in the current folder. Returns false behind the last row. `self` is the
 * path of this program. */
bool doctor_examine(size_t i, const char *self, struct finding *ret);
void finding_done(struct finding *f);

#endif
