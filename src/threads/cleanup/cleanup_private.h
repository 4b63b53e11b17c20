/*
 * What the parts of taking threads away share.
 */
#ifndef THREADS_CLEANUP_CLEANUP_PRIVATE_H
#define THREADS_CLEANUP_CLEANUP_PRIVATE_H

#include "base/vec.h"
#include "threads/cleanup/cleanup.h"
#include "threads/upstream.h"

/* A branch that threads are for, and the commits that their work may be in. */
struct cleanup_base {
    const char *ref; /* its thread's, or NULL */
    struct upstream upstream;
    char *local, *remote; /* commits, or NULL */
    char *local_name, *remote_name;
};

struct cleaning {
    const struct cleanup_options *opts;
    struct git_place at;
    struct threads threads;
    VEC(struct cleanup_base) bases;
    bool looked_for_forge;
    bool no_forge; /* it was asked, and is not there; or it is not gh */
};

/* What is to be done with a thread. */
struct verdict {
    bool goes;
    enum cleanup_reason reason;
    struct buf why;
    struct buf tip; /* of its branch; empty where that is gone */
};

/* base.c: asks each remote once; one that does not answer is told. */
int cleanup_base(struct cleaning *c, const struct thread *t, const struct cleanup_base **ret,
                 struct err *err);
void cleanup_bases_done(struct cleaning *c);

/* decide.c: changes nothing. */
int cleanup_look(struct cleaning *c, const struct thread *t, struct verdict *ret, struct err *err);

/* Whether anything in it, or staged for it, is not committed; the names of the first few. */
int cleanup_changes(const struct cleaning *c, const struct thread *t, struct buf *ret_names,
                    struct err *err);

/* What git is in the middle of in it, in words; NULL: nothing. */
const char *cleanup_unfinished(const struct thread *t);

/* Whether some commit was ever made in it. */
bool cleanup_has_begun(const struct thread *t);

/* inside.c: appends what a repository holds that would go with it and that is nowhere else;
 * nothing where there is none. */
int cleanup_inside(const struct cleaning *c, const struct thread *t, struct buf *ret_why,
                   struct err *err);

/* forge.c: whether the forge has merged its branch as it is; else what there is to say of
 * its pull request is appended to `ret_note`. */
int cleanup_ask_forge(struct cleaning *c, const struct thread *t, const char *tip, bool *ret_merged,
                      struct buf *ret_note, struct err *err);

/* remove.c: saves what the base has not, then takes it all away. `dropped` are ignored files
 * that go with it. */
int cleanup_take(const struct cleaning *c, const struct thread *t, const char *tip,
                 struct buf *ret_salvage, struct err *err);
int cleanup_dropped(const struct cleaning *c, const struct thread *t, struct strv *ret,
                    struct err *err);

#endif
