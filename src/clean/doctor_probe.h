/*
 * Checks of the doctor that start a process.
 */
#ifndef CLEAN_DOCTOR_PROBE_H
#define CLEAN_DOCTOR_PROBE_H

#include "base/buf.h"
#include "base/err.h"

/* Arguments of one check. */
struct probe {
    const char *self; /* path of this program */
    int number;       /* the number in the row of the table */
};

/* Runs a command in a guard with the named means of containment (or any). Appends the means that
 * the guard used. */
int probe_guard(const char *self, const char *means, struct buf *ret_means, struct err *err);

#endif
