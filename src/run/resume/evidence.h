/*
 * struct evidence: what the store and git know of a run that ended or died. If they disagree, git
 * wins. Loading it takes a fixed number of queries for any number of tasks.
 */
#ifndef RUN_RESUME_EVIDENCE_H
#define RUN_RESUME_EVIDENCE_H

#include "base/err.h"
#include "base/map.h"
#include "git/git.h"
#include "plan/engine/rules/past_life.h"
#include "plan/plan.h"
#include "run/run.h"
#include "store/store.h"

struct evidence_task {
    struct store_task row;
    struct task_evidence events;
    struct past_life life;     /* by the events, or by a replay (replay.h) */
    enum task_state state;     /* from the row, unless an event is newer */
    const char *branch_commit; /* the commit of its branch; NULL: no branch */
};

struct evidence {
    struct arena arena;   /* owns everything below */
    struct store_run row; /* id is NULL if the store does not have the run */
    struct evidence_task *tasks;
    size_t n;
    struct map by_id;
    int64_t last_event;       /* time of the last event; ms since 1970 */
    const char *tip, *result; /* commits of these refs of the run; NULL: no such ref */
    const char *base;         /* commit of the base branch */
    struct map history;       /* commits that tip or base gained since the run began */
};

/* Prefix of a run's branches: one for each task, and the result for the user if the base could not
 * follow. */
#define PAST_BRANCH "refs/heads/anabranch/"

/* Returns the ref of a task's branch, to be freed. `pattern` is the run's template with {id}; NULL:
 * ours. */
char *evidence_branch(const char *pattern, const char *run, const char *task);

/* Identifies a run. `at`, base_ref and base_commit are NULL outside a repository. */
struct evidence_query {
    const char *run;
    const struct git_place *at;
    const char *base_ref, *base_commit;
    const char *branch; /* template of its branches, or NULL */
};

int evidence_load(struct evidence *past, struct store *store, const struct evidence_query *query,
                  struct err *err);
void evidence_done(struct evidence *past);

struct evidence_task *evidence_find(const struct evidence *past,
                                    const char *id); /* NULL: not found */

/* True if the tip or the base gained the commit since the run began; false for NULL. */
bool evidence_has_commit(const struct evidence *past, const char *commit);

#endif
