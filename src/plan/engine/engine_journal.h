/*
 * The journal of an engine: text from which a replay makes the same engine again.
 *
 * A section holds the life of one engine. It begins with a line that has the set-up of the engine,
 * and the number of the format; a line for each event follows (engine_line.h):
 *
 *     begin format=1 plan=77 tasks=4 workers=4 no-wait=no lanes=2 wanted=1*4 own=0*3,1*1 ...
 *     starts-next
 *     attempt-opened task=0
 *
 * `plan` identifies the tasks and their order. The lists have one value per task; 0*3 stands for
 * three zeros.
 */
#ifndef PLAN_ENGINE_ENGINE_JOURNAL_H
#define PLAN_ENGINE_ENGINE_JOURNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "plan/engine/engine.h"

/* Appends the first line of a section, when the engine has its tasks and lanes. `wanted` is that of
 * engine_schedule(). */
void engine_journal_begin(struct buf *out, const struct engine *e, const bool *wanted);

/* engine_event(). Returns true if the journal must have the event (engine_line_write()): all but
 * questions that had no answer and changed nothing. */
bool engine_hear(struct engine *e, const struct engine_event *ev, struct actions *ret);

/* A replay. The caller owns the first members. */
struct engine_replay {
    const struct plan *plan;
    struct graph *graph;
    struct claims *claims;
    struct engine *engine;    /* zeroed; then that of the last section, for engine_done() */
    struct actions actions;   /* the answer to the last event */
    size_t sections, refused; /* refused: events that a task could not have in its state */
};

/* Replays one line, without its newline. If it fails, the engine is as before. */
int engine_replay_line(struct engine_replay *r, const char *line, size_t len, struct err *err);

/* Replays lines, each with its newline. */
int engine_replay_text(struct engine_replay *r, const char *text, struct err *err);

void engine_replay_done(struct engine_replay *r);

#endif
