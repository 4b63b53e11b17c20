/*
 * struct publication: the steps by which the base branch follows the tip, as a pure value. The
 * caller tries to move the base and reports why that did not work; publication_step() says what to
 * do next. We retry on top of what others commit meanwhile, wait for their locks, repair a checkout
 * that a killed git left half moved, or finish without success: then the next landing tries again,
 * and in the end the result stays on a branch.
 */
#ifndef PLAN_ENGINE_PUBLICATION_H
#define PLAN_ENGINE_PUBLICATION_H

#include <stdbool.h>
#include <stdint.h>

enum publication_state {
    PUBLICATION_IDLE,
    PUBLICATION_TRYING,   /* tries to move the base, or waits until it can try again */
    PUBLICATION_MOVING,   /* our git moves the checkout */
    PUBLICATION_SETTLING, /* keeps the lock of the checkout until gits of others have ended */
    PUBLICATION_STOPPING, /* our git was told to end */
    PUBLICATION_ENDING,   /* waits for nobody any more */
    PUBLICATION_GIVEN_UP, /* later publications do nothing */
};

struct publication {
    enum publication_state state;
    int tries;
    int64_t deadline;       /* end of the waits for a lock of others or for the user */
    int64_t git_wait_until; /* end of the wait for gits of others in the checkout ... */
    bool git_outlasted;     /* ... an earlier one was in vain */
    int64_t follow_ms;      /* time that merging the base into the tip took last */
    bool git_killed;        /* our last git was killed before it moved the base or refused to, or
                             * the user has left the base meanwhile */
    bool repaired;          /* we repaired a half-moved checkout, or found none */
    bool wait_reported;
    bool base_moved; /* the base has everything that we wanted to publish */
};

enum { PUBLICATION_WAIT_MS = 10000 }; /* usual time from begin to `deadline` */

bool publication_is_busy(const struct publication *p);
bool publication_is_given_up(const struct publication *p);

/* False if an earlier one was given up: the base does not move. */
bool publication_begin(struct publication *p, int64_t deadline);
void publication_end(struct publication *p);

/* Why a try did not move the base. */
enum publication_event {
    PUBLICATION_OTHER_RUN, /* another run has the base lock */
    PUBLICATION_USER,      /* the user is in the middle of an operation on the base */
    PUBLICATION_COMMIT,    /* the user commits just now */
    PUBLICATION_OTHER_GIT, /* another git is at work in the checkout, or has switched branches */
    PUBLICATION_FAILED,    /* it lost a race, or git refused, failed or was killed */
    PUBLICATION_REPAIRED,
    PUBLICATION_NOT_REPAIRED,
};

struct publication_facts {
    int64_t now;
    bool last; /* nothing else will land: no later publication tries again */
    bool stopping;
    bool base_changed; /* after a failure: someone else moved the base */
    bool git_locked;   /* after a failure: git found the lock of another git */
    bool git_refused;  /* after a failure: the base is checked out, and git said why it did not move
                        */
};

enum publication_action {
    PUBLICATION_TRY,       /* try again in wait_ms */
    PUBLICATION_TAKE_LOCK, /* leave the base lock, and take it again in wait_ms */
    PUBLICATION_REPAIR,    /* repair the checkout, then report one of the two outcomes */
    PUBLICATION_FINISH,
};

struct publication_step {
    enum publication_action action;
    int64_t wait_ms;
    bool report; /* tell the user that we wait, once in a run */
};

struct publication_step publication_step(struct publication *p, enum publication_event event,
                                         const struct publication_facts *facts);

/* True if a try should wait while a user commits, who has the index locked mostly until the branch
 * has moved. The best moment for a try is right after that. */
bool publication_yields(const struct publication *p, bool stopping, int64_t now);

/* True if the next try locks the base. Another process commits all the time and won the races. We
 * lock the base only if that takes much less time than another git waits for the lock (100 ms). */
bool publication_holds_base(const struct publication *p);

/* The usual ms that we wait for gits of others in the checkout. They mostly end after a few
 * milliseconds. Those that wait for an editor, or serve one, do not: after the first wait in vain
 * we wait for them only a moment. */
int64_t publication_git_wait(const struct publication *p);

/* Another git is at work in the checkout: true if we wait for it, until git_wait_until. */
bool publication_awaits_git(struct publication *p, int64_t now);

/* Our git begins, and ends, to move the checkout. Then we wait for the gits of others. */
void publication_git_began(struct publication *p);
void publication_git_ended(struct publication *p, bool killed);
void publication_settle(struct publication *p);

enum publication_stop {
    PUBLICATION_STOP_NOTHING,
    PUBLICATION_STOP_GIT,
    PUBLICATION_KILL_GIT,
    PUBLICATION_STOP_WAITING, /* finish at once */
};

/* Ends every wait for others. Says what to do for that. */
enum publication_stop publication_give_up(struct publication *p);

#endif
