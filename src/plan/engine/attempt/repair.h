/*
 * Kinds of repair, by what we put into the workspace before we resume the agent's session; see
 * run/rework/repair.h.
 */
#ifndef PLAN_ENGINE_ATTEMPT_REPAIR_H
#define PLAN_ENGINE_ATTEMPT_REPAIR_H

enum repair { REPAIR_NONE, REPAIR_OWN, REPAIR_MERGED, REPAIR_CONFLICT, REPAIR_COUNT_ };

/* "own", "merged", "conflict", as in the events; NULL for REPAIR_NONE. */
extern const char *const repair_words[REPAIR_COUNT_];

#endif
