/*
 * struct git_batch: long-lived git processes that answer the many small questions of a run, write
 * its objects and move its refs. Otherwise each of these would need a process of its own. We
 * restart a process that dies.
 */
#ifndef GIT_BATCH_H
#define GIT_BATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>

struct git_batch;
struct sign;

struct git_batch *git_batch_new(const char *git_dir);
void git_batch_free(struct git_batch *batch);

/* Appends the output of `git version` and learns the user's identity for git_batch_ident(), all in
 * parallel. Leaves out what git did not answer. */
int git_batch_begin(struct git_batch *batch, struct buf *ret_version, struct err *err);

/* Starts all processes without waiting for any of them. Call it if all of them will be used. */
int git_batch_get_ready(struct git_batch *batch, struct err *err);

/* From now on we write commits and trees ourselves, because we control every part of their form.
 * Only for a repository whose settings permit it (git/config/core_settings.h). */
void git_batch_write_here(struct git_batch *batch);

/* How the batch signs commits (sign.h), if at all. */
struct sign *git_batch_sign(struct git_batch *batch);

/* Appends the id of the object that an expression names ("refs/heads/x^{commit}", "ID^{tree}").
 * *ret_found is false if there is none. */
int git_batch_resolve(struct git_batch *batch, const char *expression, struct buf *out,
                      bool *ret_found, struct err *err);

/* Appends the bytes of the object that an expression names; fails if it is missing. */
int git_batch_read(struct git_batch *batch, const char *expression, struct buf *out,
                   struct err *err);

/* The size of an object, by its id, in bytes; fails if it is missing. */
int git_batch_size(struct git_batch *batch, const char *id, size_t *ret_size, struct err *err);

/* *ret_yes is true if all of these objects exist. Each id ends with a newline. */
int git_batch_has_all(struct git_batch *batch, const struct buf *ids, bool *ret_yes,
                      struct err *err);

enum git_batch_type { GIT_BATCH_COMMIT, GIT_BATCH_TREE, GIT_BATCH_TYPES_ };

/* Writes an object and appends its id. Rejects a tree that cannot be parsed. */
int git_batch_write(struct git_batch *batch, enum git_batch_type type, const struct buf *bytes,
                    struct buf *ret_id, struct err *err);

/* Appends the id of a tree, and writes the tree unless we wrote or read it before: another task's
 * commit may have the same folder. Then we also append the id to `required`, one per line, for
 * git_batch_has_all(): the tree may have been pruned. */
int git_batch_use_tree(struct git_batch *batch, const struct buf *bytes, struct buf *required,
                       struct buf *ret_id, struct err *err);

/* True if git rejected the object or could not write it. Then another git command may accept it, or
 * explain the error. False if git hung: do not wait for it a second time. */
bool git_batch_refused(const struct err *err);

enum git_batch_who { GIT_BATCH_AUTHOR, GIT_BATCH_COMMITTER, GIT_BATCH_WHO_ };

/* Appends "NAME <EMAIL> SECONDS ZONE" in the form that git would write now. */
int git_batch_ident(struct git_batch *batch, enum git_batch_who who, struct buf *out,
                    struct err *err);

/* Like git_move_ref(). */
int git_batch_move_ref(struct git_batch *batch, const char *ref, const char *from, const char *to,
                       bool *ret_moved, struct err *err);

/* Moves several refs, all or none. */
struct git_batch_move {
    const char *ref, *from, *to;
};
int git_batch_move_refs(struct git_batch *batch, const struct git_batch_move *moves, size_t n,
                        bool *ret_moved, struct err *err);

/* Locks a ref, so that no other git can move it. The next move of a ref here releases this lock and
 * takes the locks that it needs at once, so hardly any other git gets in between. Other gits wait
 * only 100 ms for a ref, so keep the lock for much less. If we die, the git that holds the lock
 * releases it. `commit` is any existing commit. *ret_held is false if another git has the lock. */
int git_batch_hold(struct git_batch *batch, const char *ref, const char *commit, bool *ret_held,
                   struct err *err);
void git_batch_release(struct git_batch *batch);

/* True if the git that served the last request for refs was killed and may have left its lock. */
bool git_batch_was_killed(const struct git_batch *batch);

/* Like git_delete_refs(), but deletes all or none. */
int git_batch_delete_refs(struct git_batch *batch, const struct strv *refs, bool *ret_deleted,
                          struct err *err);

#endif
