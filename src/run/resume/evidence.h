/*
 * struct evidence: what is known of the earlier life of a run: what its store says, and what git
 * says, who has the last word. A handful of questions, however many tasks there are.
 */
#ifndef RUN_RESUME_EVIDENCE_H
#define RUN_RESUME_EVIDENCE_H

#include "base/map.h"
#include "git/git.h"
#include "plan/plan.h"
#include "run/run.h"
#include "store/store.h"

struct evidence_task {
    struct store_task row;
    enum task_state state;
    bool has_landed;           /* at some time it was said to have ... */
    const char *landed;        /* ... as this commit, ... */
    const char *committed;     /* ... made of this one; NULL: it is not known */
    const char *last_commit;   /* the last one that was told of it */
    int tried[FAILURE_COUNT_]; /* retries since it last failed for good */
    int64_t parked_until;      /* ms since 1970: it waits for a limit; 0: it does not */
    const char *session;       /* in which its agent goes on then; or NULL */
    int repair;                /* enum repair: it does so in order to mend its work */
    bool in_conflict;          /* its agent was to resolve a conflict, and has not yet */
    bool on_tip;               /* it was in conflict, and begins with all that has landed */
    const char *unverified;    /* it failed because that commit could not be verified; or NULL */
    const char *origin;        /* where it began, before it was given what has landed; or NULL */
    bool said;                 /* a person has told its agent something, which it has not heard */
    bool remade;               /* its workspace is to be made again, for that ... */
    const char *from;          /* ... with the files of this commit; or NULL */
    bool again;                /* it failed, and a person wants it to begin again */
    const char *given;         /* the session that its last attempt went on in; or NULL */
    const char *branch_commit; /* where its branch is; NULL: there is none */
};

struct evidence {
    struct arena arena;   /* holds all that is below */
    struct store_run row; /* id is NULL where the store has no such run */
    struct evidence_task *tasks;
    size_t n;
    struct map by_id;
    int64_t last_event;       /* when it last wrote one; ms since 1970 */
    const char *tip, *result; /* where those refs of the run are; NULL: there is none */
    const char *base;         /* where the base branch is */
    struct map history;       /* commits that the run's tip or the base has, since the run began */
};

/* The refs of a run: all that has landed, that for the user where the base could not follow, and,
 * with the id of a task behind it, a task's. */
#define PAST_BRANCH "refs/heads/anabranch/"

/* The ref of a task's branch. `pattern` is what the run was begun with for that, with {id} in it;
 * NULL: ours. To be freed. */
char *evidence_branch(const char *pattern, const char *run, const char *task);

/* Which run, and where it began; `at` and the two behind it are NULL outside a repository. */
struct evidence_query {
    const char *run;
    const struct git_place *at;
    const char *base_ref, *base_commit;
    const char *branch; /* pattern of its branches, or NULL */
};

int evidence_load(struct evidence *past, struct store *store, const struct evidence_query *query,
                  struct err *err);
void evidence_done(struct evidence *past);

struct evidence_task *evidence_find(const struct evidence *past,
                                    const char *id); /* NULL: not there */

/* Whether a commit (NULL: no) came to the tip or the base since the run began. */
bool evidence_has_commit(const struct evidence *past, const char *commit);

#endif
