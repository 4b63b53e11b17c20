/*
 * cast-parallel: what the files of the drop-in share.
 */
#ifndef DROPIN_CAST_H
#define DROPIN_CAST_H

#include "base/buf.h"
#include "base/strv.h"
#include "doc/doc.h"

#include <stdbool.h>
#include <stddef.h>

/* A plan that has passed that tool's own checks. */
struct cast_plan {
    const char *path;
    char *logger; /* cast-db-log.py beside the program, or NULL */
    struct doc doc;
    struct buf id;     /* plan_id, as text */
    size_t count;      /* batches */
    size_t split;      /* how many of them are stream A's */
    struct buf ids[2]; /* those of both streams, with commas */
    struct strv names; /* of the batches: their ids, as text */
    bool clean;        /* what killed runs have left is saved and removed first */
};

enum cast_voice { CAST_INFO, CAST_SUCCESS, CAST_WARN, CAST_ERROR };

/* "[cast-parallel] message", on standard error for warnings and errors. */
void cast_say(enum cast_voice voice, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A line of its own, bold or dim where there is colour. */
void cast_header(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cast_dim(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reads the plan's block into p->doc, which is empty before. EXIT_OK, or an exit code, and has said
 * why. */
int cast_load(struct cast_plan *p);

/* Runs the two streams; returns the exit code. */
int cast_run(struct cast_plan *plan);

#endif
