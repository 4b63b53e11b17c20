/*
 * Common parts of the fuzz targets. Each target is a file that defines LLVMFuzzerTestOneInput().
 * It is linked with libFuzzer to search for inputs, and with replay.c to run the stored ones.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "base/node/node.h"
#include "base/node/problem.h"
#include "doc/doc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program where something that always holds does not. */
#define fuzz_check(condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fuzz_fail(__FILE__, __LINE__, #condition);                                             \
    } while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* Takes the next line off the input, as a string of its own; NUL bytes in it become dots. An empty
 * string at the end of the input. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};
char *fuzz_line(struct fuzz_input *in);

/* True if s is a path as base/text/glob.h defines it: relative, single slashes, no "." and "..". */
bool fuzz_is_path(const char *s);

/* A string that a pattern could match, for each variant another one: its wildcards filled in. */
enum { FUZZ_VARIANTS = 4 };
char *fuzz_path_like(const char *pattern, unsigned variant);

/* True if s is one line of valid UTF-8 that does nothing to a terminal. */
bool fuzz_is_harmless(const char *s, size_t len);

/* Reads text in a syntax and checks what holds of every result: a refusal says one thing, at a
 * place in the text; a tree is linked well, no deeper than allowed, and every value is in the text.
 */
int fuzz_parse(struct doc *doc, const uint8_t *data, size_t size, enum doc_syntax syntax,
               struct problems *ps);

/* All there is to do for one syntax: fuzz_parse() and release. Returns 0, as a target does. */
int fuzz_document(const uint8_t *data, size_t size, enum doc_syntax syntax);

/* Checks that every problem can be shown as it is. */
void fuzz_check_problems(const struct problems *ps);

#endif
