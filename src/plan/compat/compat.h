/*
 * Foreign vocabularies: the plans of parallel-orchestra, parallel-sessions and of the Agent
 * Dispatch Manifest are translated, in the tree, to the canonical words before anything is decoded,
 * so that the rest of the program knows one vocabulary. Positions and paths stay those of the file.
 */
#ifndef PLAN_COMPAT_COMPAT_H
#define PLAN_COMPAT_COMPAT_H

#include "base/arena.h"
#include "base/node/node.h"
#include "base/node/problem.h"
#include "plan/plan.h"

/* Finds out whose plan it is (root is a mapping) and translates it. Adds problems that only that
 * vocabulary has; the rest is the decoder's. What batches there were is in ret_batches, in the
 * arena; it stays as it is where there were none. */
enum plan_kind compat_translate(struct node *root, struct arena *a, struct problems *ps,
                                struct plan_batches *ret_batches);

/* One file each: */
void compat_orchestra(struct node *root, struct arena *a, struct problems *ps);
void compat_threads(struct node *root, struct arena *a, struct problems *ps);
void compat_batches(struct node *root, struct arena *a, struct problems *ps,
                    struct plan_batches *ret);

/* What they share. A made-up member: read as name, shown as the place of `origin`. */
struct node *compat_add(struct node *map, struct arena *a, const char *name, enum node_kind kind,
                        const struct node *origin);
struct node *compat_add_string(struct node *map, struct arena *a, const char *name, const char *s,
                               const struct node *origin);

/* Member `key` is read as `name` from now on; NULL where there is none. Having both is an error. */
struct node *compat_rename(struct node *map, const char *key, const char *name,
                           struct problems *ps);

/* The canonical mapping `name` under root, made where there is none. */
struct node *compat_section(struct node *root, struct arena *a, const char *name);

/* Adds the error for each of the keys (NULL-terminated) that map lacks. */
void compat_require(const struct node *map, const char *const *keys, struct problems *ps);

/* `text` says what the task is to do, and its first line is the title where there is none. */
void compat_prompt(struct node *task, struct arena *a, struct node *text);

/* The plan's name, which may be any scalar there; what is none is ignored with a warning. */
void compat_name(struct node *root, struct problems *ps);

/* A scalar of another kind becomes the string that it is written as. */
void compat_as_string(struct node *node);

#endif
