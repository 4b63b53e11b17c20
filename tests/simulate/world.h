/*
 * A small world for the engine of a run: a random plan, a model of the shell that carries out the
 * engine's actions with random outcomes, and the journal of the engine. No files, processes
 * or time: a seed decides everything.
 */
#ifndef TESTS_SIMULATE_WORLD_H
#define TESTS_SIMULATE_WORLD_H

#include "base/buf.h"
#include "plan/engine/engine.h"

#include <setjmp.h>

enum { TASKS_MAX = 12, LANES_MAX = 3, GROUPS_MAX = 2 };

/* The stage of a task, as the shell knows it. */
enum stage {
    STAGE_IDLE, /* without an attempt */
    STAGE_TIMER,
    STAGE_PREPARING,
    STAGE_WORKING,
    STAGE_COMMITTING,
    STAGE_QUEUED,
    STAGE_VERIFYING,
    STAGE_IN_TIP,
    STAGE_ENDED,
};

struct job {
    enum stage stage;
    enum task_start start;
    bool workspace, prepared; /* of the open attempt */
    bool unsaved;             /* the workspace has work that is saved nowhere else */
    bool committed;           /* the task has a commit */
    bool verifies;            /* the plan verifies it */
    bool stopped;             /* a person stopped the attempt */
    bool session;             /* its agent's session is known */
    bool landed_before, lands_over;
    bool holds_worker;
    uint64_t verified_tip; /* its commit was merged with this tip and verified; 0: none */
    uint64_t merging_tip;  /* it is being verified on this tip */
    int64_t due;           /* of its timer */
    int64_t tokens;        /* used by the open attempt */
    int attempts, landings;
};

struct world {
    uint64_t random;
    jmp_buf broken; /* a promise is broken: see `what` */
    char what[200];
    struct plan plan;
    struct task tasks[TASKS_MAX];
    struct group groups[GROUPS_MAX];
    uint32_t deps[TASKS_MAX][TASKS_MAX];
    char ids[TASKS_MAX][8];
    struct problems problems;
    struct graph graph;
    struct claims claims;
    int32_t lane[TASKS_MAX], fallback[TASKS_MAX];
    size_t lanes, workers;
    bool wanted[TASKS_MAX], only_some; /* the run has only the wanted tasks */
    struct engine *engine, *replayed;  /* replayed: while we compare the two */
    struct job jobs[TASKS_MAX];
    int64_t now, lane_due[LANES_MAX], publish_due;
    bool publishing, publishing_last, moves_base;
    size_t deletions;
    bool over, pool, wakes;
    uint64_t tip, tips; /* the present tip, and the number of tips ever */
    struct actions actions;
    struct buf begin;               /* the first line of the journal ... */
    VEC(struct engine_event) heard; /* ... and the events of its other lines */
    uint64_t answers;               /* a hash of all actions */
    uint64_t events;                /* since the program began */
};

/* Random numbers: from 0 to n - 1; true in `percent` of the cases. */
unsigned pick(struct world *w, unsigned n);
bool chance(struct world *w, unsigned percent);

/* A promise is broken. */
void broken(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));

void world_init(struct world *w, uint64_t seed);
void world_done(struct world *w);

/* The replayed engine takes the place of the other one. */
void world_replace_engine(struct world *w);

/* A new engine that knows nothing, with an empty journal. */
void world_forget(struct world *w);

/* Reports an event: w->actions has the answer. Checks what must always be true. */
void tell(struct world *w, const struct engine_event *ev);

/* The name of an event that no history had; NULL: there is none. */
const char *world_find_unseen(void);

/* history.c: lives through one history, up to `most` events. */
void shell_live(struct world *w, size_t most);

/* replay.c: forgets everything but the journal. The engine that comes out must be the same. */
void replay_journal(struct world *w);
void write_journal(const struct world *w, struct buf *out);
void hash_actions(uint64_t *hash, const struct actions *actions);

/* print.c: all that the engine knows, as text. */
void print_engine(struct buf *out, const struct engine *e);

/* promises.c */
void promises_check(struct world *w);
void promises_check_start(struct world *w, uint32_t task);
void promises_check_landing(struct world *w, uint32_t task);
void promises_check_end(struct world *w);

#endif
