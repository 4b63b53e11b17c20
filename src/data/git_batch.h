/*
 * struct git_batch: git processes that stay, for the many small questions and ref moves of a run,
 * each of which would otherwise be a process of its own. Where one of them dies it is started
 * again.
 */
#ifndef DATA_GIT_BATCH_H
#define DATA_GIT_BATCH_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct git_batch;

struct git_batch *git_batch_new(const char *git_dir);
void git_batch_free(struct git_batch *batch);

/* The id of the object that an expression stands for ("refs/heads/x^{commit}", "ID^{tree}");
 * *ret_found is false where there is none. */
int git_batch_resolve(struct git_batch *batch, const char *expression, struct buf *out,
                      bool *ret_found, struct err *err);

/* As git_move_ref(). */
int git_batch_move_ref(struct git_batch *batch, const char *ref, const char *from, const char *to,
                       bool *ret_moved, struct err *err);

#endif
