/*
 * A task that has ended is taken up again in its agent's session, because a person has something to
 * say to it or wants it to be tried again: of a run that is over (one_task.c), or of one that
 * goes on (request.h).
 *
 * Where the workspace is gone it is made again: of what has landed, where the task had; else of
 * what was saved of its last attempt. What is about to be done is in the event task.continued, and
 * what is said is in a file, before anything is changed: whoever goes on after our own death does
 * the same.
 */
#ifndef RUN_REWORK_CONTINUE_SESSION_H
#define RUN_REWORK_CONTINUE_SESSION_H

#include "run/resume/evidence.h"
#include "run/run_private.h"

struct continue_session {
    const struct evidence_task *past; /* what is known of the task; these are borrowed */
    const char *session;
    const char *say; /* NULL: that it is to try again */
    bool landed;     /* what it made has */
    bool safe;       /* where its branch is, is in the history */

    /* What it begins with, by continue_session_find(): */
    enum repair repair;
    bool remade;
    struct buf start; /* "": as it is */
    struct buf from;  /* what was saved, "": nothing */
};
#define TAKE_UP_INIT(...)                                                                          \
    {                                                                                              \
        .start = BUF_INIT, .from = BUF_INIT, __VA_ARGS__                                           \
    }
void continue_session_done(struct continue_session *t);

/* What is half there is for a resume to put right: no session is gone on with in it. */
bool continue_session_is_half(const struct run *run, const struct evidence_task *past);

/* Finds what the task begins with, saves what that does not have, and keeps what its agent is told.
 * Nothing of the task is changed where this fails. */
int continue_session_find(struct run *run, uint32_t task, struct continue_session *t,
                          struct err *err);

/* It waits for its turn from then on, which is written down. */
void continue_session_go(struct run *run, uint32_t task, const struct continue_session *t);

/* Writes down that the agent goes on in the session, told something or NULL, as the task says. */
void continue_session_record(struct run *run, uint32_t task, const char *say);

/* What a person has said, for an event: without secrets, and harmless. */
void continue_session_put_words(const struct run *run, struct arena *a, struct node *data,
                                const char *words);

/* What the attempt behind that one is told, for who goes on with the run before it has begun. */
int continue_session_keep_words(const struct run *run, uint32_t task, int attempt,
                                const char *words, struct err *err);

#endif
