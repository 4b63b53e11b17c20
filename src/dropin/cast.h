/*
 * Shared by the files of cast-parallel.
 */
#ifndef DROPIN_CAST_H
#define DROPIN_CAST_H

#include "base/buf.h"
#include "base/strv.h"
#include "doc/doc.h"

#include <stdbool.h>
#include <stddef.h>

/* A plan that has passed the checks of cast-parallel. */
struct cast_plan {
    const char *path;
    char *logger; /* cast-db-log.py next to the program, or NULL */
    struct doc doc;
    struct buf id;     /* plan_id, as text */
    size_t count;      /* number of batches */
    size_t split;      /* number of batches in stream A */
    struct buf ids[2]; /* per stream: the ids of its batches, separated by commas */
    struct strv names; /* the ids of all batches, as text */
    bool clean;        /* first save and remove the leftovers of killed runs */
};

enum cast_voice { CAST_INFO, CAST_SUCCESS, CAST_WARN, CAST_ERROR };

/* Prints "[cast-parallel] message"; warnings and errors go to standard error. */
void cast_say(enum cast_voice voice, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints an error, and returns the code. */
int cast_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints a line, in bold or dim if the terminal has colours. */
void cast_header(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cast_dim(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reads the plan's block into p->doc, which must be empty. Returns EXIT_OK, or an exit code
 * after printing the reason. */
int cast_load(struct cast_plan *p);

/* Runs the two streams; returns the exit code. */
int cast_run(struct cast_plan *plan);

#endif
