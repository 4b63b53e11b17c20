/*
 * struct strv: a growing, NULL-terminated vector of strings that it owns. It has the shape of an
 * argv.
 */
#ifndef BASE_STRV_H
#define BASE_STRV_H

#include "base/own.h"

#include <stddef.h>

struct strv {
    char **v; /* v[n] is NULL; v itself is NULL while empty */
    size_t n, cap;
};

void strv_done(struct strv *sv);
#define autostrv own_cleanup(strv_done)

void strv_push(struct strv *sv, const char *s); /* copies s */
void strv_pushf(struct strv *sv, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strv_pushl(struct strv *sv, ...) __attribute__((sentinel)); /* copies up to a NULL */

char *
strv_pop(struct strv *sv); /* removes the last string and gives it to the caller; NULL if empty */

#endif
