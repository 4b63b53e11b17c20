/*
 * struct git_batch: git processes that stay, for the many small questions, objects and ref moves of
 * a run, each of which would otherwise be a process of its own. Where one of them dies it is
 * started again.
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

/* Appends what `git version` says, and learns who the user is for git_batch_ident(), all at once.
 * What git did not answer is left out. */
int git_batch_begin(struct git_batch *batch, struct buf *ret_version, struct err *err);

/* Starts all of its processes without waiting for any, where all will be asked for. */
int git_batch_get_ready(struct git_batch *batch, struct err *err);

/* From now on commits and trees, whose form is ours in every part, are written without git. Only
 * for a repository whose settings have nothing against it (git/config/core_settings.h). */
void git_batch_write_here(struct git_batch *batch);

/* Whether and how its commits are signed (sign.h). */
struct sign *git_batch_sign(struct git_batch *batch);

/* The id of the object that an expression stands for ("refs/heads/x^{commit}", "ID^{tree}");
 * *ret_found is false where there is none. */
int git_batch_resolve(struct git_batch *batch, const char *expression, struct buf *out,
                      bool *ret_found, struct err *err);

/* Appends the bytes of the object that an expression stands for; one that is missing is a failure.
 */
int git_batch_read(struct git_batch *batch, const char *expression, struct buf *out,
                   struct err *err);

/* How many bytes an object has, by its id; one that is missing is a failure. */
int git_batch_size(struct git_batch *batch, const char *id, size_t *ret_size, struct err *err);

/* Whether all of these objects are there: their ids, each with a newline behind it. */
int git_batch_has_all(struct git_batch *batch, const struct buf *ids, bool *ret_yes,
                      struct err *err);

enum git_batch_type { GIT_BATCH_COMMIT, GIT_BATCH_TREE, GIT_BATCH_TYPES_ };

/* Writes an object and appends its id. A tree that cannot be read as one is not taken. */
int git_batch_write(struct git_batch *batch, enum git_batch_type type, const struct buf *bytes,
                    struct buf *ret_id, struct err *err);

/* The id of a tree that was written or read before, by its bytes; NULL for another. Whether it is
 * still there is for git_batch_has_all() to say. */
const char *git_batch_tree_id(const struct git_batch *batch, const struct buf *bytes);

/* Whether a write failed because git did not take the object, or could not write it. Another of its
 * commands may take it, and says what is wrong; one that hangs is not to be waited for again. */
bool git_batch_refused(const struct err *err);

enum git_batch_who { GIT_BATCH_AUTHOR, GIT_BATCH_COMMITTER, GIT_BATCH_WHO_ };

/* Appends "NAME <EMAIL> SECONDS ZONE", as git would write it now. */
int git_batch_ident(struct git_batch *batch, enum git_batch_who who, struct buf *out,
                    struct err *err);

/* As git_move_ref(). */
int git_batch_move_ref(struct git_batch *batch, const char *ref, const char *from, const char *to,
                       bool *ret_moved, struct err *err);

/* Several at once: all or none. */
struct git_batch_move {
    const char *ref, *from, *to;
};
int git_batch_move_refs(struct git_batch *batch, const struct git_batch_move *moves, size_t n,
                        bool *ret_moved, struct err *err);

/* Locks a ref, so that no other git moves it, until something is moved here: that gives up the lock
 * and takes those that it needs in one breath, in which hardly anyone comes between. Other gits
 * wait 100 ms for a ref, so this is to be over well before. The git that holds it gives it up when
 * we die. `commit` is any that is there. *ret_held is false where another has the lock. */
int git_batch_hold(struct git_batch *batch, const char *ref, const char *commit, bool *ret_held,
                   struct err *err);
void git_batch_release(struct git_batch *batch);

/* Whether the git that was asked for that was killed meanwhile, and may have left its lock. */
bool git_batch_was_killed(const struct git_batch *batch);

/* As git_delete_refs(), but all or none. */
int git_batch_delete_refs(struct git_batch *batch, const struct strv *refs, bool *ret_deleted,
                          struct err *err);

#endif
