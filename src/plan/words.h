/*
 * The words for a plan's enum values, by value; 0 is "not set" and has no word.
 */
#ifndef PLAN_WORDS_H
#define PLAN_WORDS_H

extern const char *const overlap_words[];
extern const char *const enforce_words[];
extern const char *const permissions_words[];
extern const char *const effort_words[];
extern const char *const provider_words[];
extern const char *const land_at_words[];
extern const char *const land_budget_words[];
extern const char *const land_style_words[];
extern const char *const land_author_words[];
extern const char *const engine_words[];
extern const char *const notify_words[]; /* by enum notify_on: begins at 0 */

#endif
