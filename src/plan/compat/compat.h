/*
 * Foreign vocabularies: translates plans of parallel-orchestra, of parallel-sessions and of the
 * Agent Dispatch Manifest into our words. We do so before we decode the tree, so the rest of the
 * program knows one vocabulary. Positions and paths stay those of the file.
 */
#ifndef PLAN_COMPAT_COMPAT_H
#define PLAN_COMPAT_COMPAT_H

#include "base/arena.h"
#include "base/node/node.h"
#include "base/node/problem.h"
#include "plan/plan.h"

/* Detects the vocabulary of a plan (root is a mapping) and translates it. Adds problems that only
 * this vocabulary can have; the decoder finds the others. If there are batches, sets *ret_batches,
 * in the arena; otherwise leaves it unchanged. */
enum plan_kind compat_translate(struct node *root, struct arena *a, struct problems *ps,
                                struct plan_batches *ret_batches);

/* One file each: */
void compat_orchestra(struct node *root, struct arena *a, struct problems *ps);
void compat_threads(struct node *root, struct arena *a, struct problems *ps);
void compat_batches(struct node *root, struct arena *a, struct problems *ps,
                    struct plan_batches *ret);

/* Helpers. Adds a generated member: read as `name`, with the position of `origin`. */
struct node *compat_add(struct node *map, struct arena *a, const char *name, enum node_kind kind,
                        const struct node *origin);
struct node *compat_add_string(struct node *map, struct arena *a, const char *name, const char *s,
                               const struct node *origin);

/* Renames member `key` to `name`; NULL if there is none. Having both is an error. */
struct node *compat_rename(struct node *map, const char *key, const char *name,
                           struct problems *ps);

/* Returns the canonical mapping `name` under root, and creates it if it is missing. */
struct node *compat_section(struct node *root, struct arena *a, const char *name);

/* Adds an error for each of the keys (NULL-terminated) that map lacks. */
void compat_require(const struct node *map, const char *const *keys, struct problems *ps);

/* Makes `text` the prompt of a task. If the task has no title, uses the first line. */
void compat_prompt(struct node *task, struct arena *a, struct node *text);

/* Converts the plan's name, which may be any scalar; ignores anything else with a warning. */
void compat_name(struct node *root, struct problems *ps);

/* Converts a scalar of another kind to a string, as it is written. */
void compat_as_string(struct node *node);

#endif
