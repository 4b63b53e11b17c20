/*
 * Resumes the agent's session of an ended task, because a person sends it a message or retries it.
 * The run may be over (one_task.c) or running (request.h).
 *
 * If the workspace is gone, we make it again: from the tip if the task has landed, otherwise from
 * the salvaged work of its last attempt. Before we change anything, we write the message to a file
 * and the intended steps to the event task.continued. If we die, a resume repeats them.
 */
#ifndef RUN_REWORK_CONTINUE_SESSION_H
#define RUN_REWORK_CONTINUE_SESSION_H

#include "base/buf.h"
#include "base/err.h"
#include "base/node/node.h"
#include "plan/engine/attempt/repair.h"
#include "run/resume/evidence.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

struct continue_session {
    const struct evidence_task *past; /* what is known of the task; borrowed, like the two below */
    const char *session;
    const char *say; /* NULL: tell it to try again */
    bool landed;     /* its work has landed */
    bool safe;       /* the commit of its branch is in the history of tip or base */

    /* The start of the next attempt, set by continue_session_find(): */
    enum repair repair;
    bool remade;
    struct buf start; /* "": unchanged */
    struct buf from;  /* salvaged commit; "": none */
};
#define CONTINUE_SESSION_INIT(...)                                                                 \
    {                                                                                              \
        .start = BUF_INIT, .from = BUF_INIT, __VA_ARGS__                                           \
    }
void continue_session_done(struct continue_session *t);

/* True if only half of the workspace is there: a resume must repair it before any session continues
 * in it. */
bool continue_session_is_half(const struct run *run, const struct evidence_task *past);

/* Finds where the next attempt starts, salvages work that this start lacks, and writes the message
 * for the agent to a file. If it fails, the task is unchanged. */
int continue_session_find(struct run *run, uint32_t task, struct continue_session *t,
                          struct err *err);

/* Makes the task wait for its turn, and records that. */
void continue_session_go(struct run *run, uint32_t task, const struct continue_session *t);

/* Records that the agent resumes the task's session, with a message or NULL. */
void continue_session_record(struct run *run, uint32_t task, const char *say);

/* Adds a person's message to an event, without secrets and control characters. */
void continue_session_put_words(const struct run *run, struct arena *a, struct node *data,
                                const char *words);

/* Writes the message for the next attempt to a file. A resume reads it if we die before that
 * attempt starts. */
int continue_session_keep_words(const struct run *run, uint32_t task, int attempt,
                                const char *words, struct err *err);

#endif
