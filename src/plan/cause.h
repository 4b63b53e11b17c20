/*
 * Why a model gave no answer, by the status and the words of its server: one cause has one class,
 * whatever engine tells it.
 */
#ifndef PLAN_CAUSE_H
#define PLAN_CAUSE_H

#include "plan/failure.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds words in a text, in any case. Between two words of it may be one blank, '_' or '-', or
 * nothing. \b is where a word begins or ends. */
bool cause_mentions(const char *text, const char *words);

/* The class that a text names by itself; false where it names none. */
bool cause_of_words(const char *text, enum failure *ret);

/* The class that an HTTP status stands for. An error of the server, and none (0), are transient. */
enum failure cause_of_status(int64_t status);

/* The same with the text beside it, which says more where it names a class. */
enum failure cause_of(int64_t status, const char *text);

#endif
