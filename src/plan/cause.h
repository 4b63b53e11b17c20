/*
 * Classifies why a model gave no answer, by the status and the message of its server: the same
 * cause has the same failure class, whatever engine reports it.
 */
#ifndef PLAN_CAUSE_H
#define PLAN_CAUSE_H

#include "plan/failure.h"

#include <stdbool.h>
#include <stdint.h>

/* True if a text contains these words, ignoring case. Two words may be separated by one space, '_'
 * or '-', or by nothing. \b matches at the beginning or end of a word. */
bool cause_mentions(const char *text, const char *words);

/* Finds the failure class that a text names; false if it names none. */
bool cause_of_words(const char *text, enum failure *ret);

/* The failure class of an HTTP status. Server errors, and no status (0), are transient. */
enum failure cause_of_status(int64_t status);

/* The same for a status and a text. If the text names a class, the text decides. */
enum failure cause_of(int64_t status, const char *text);

#endif
