/*
 * What the doctor tries out that takes more than a question.
 */
#ifndef CLEAN_DOCTOR_PROBE_H
#define CLEAN_DOCTOR_PROBE_H

#include "base/buf.h"
#include "base/err.h"

/* What a row of the doctor's table is asked with. */
struct probe {
    const char *self; /* path of this program */
    int number;       /* the row's own */
};

/* Has a command guarded by the means of that name, or by any; appends the one that was used. */
int probe_guard(const char *self, const char *means, struct buf *ret_means, struct err *err);

#endif
