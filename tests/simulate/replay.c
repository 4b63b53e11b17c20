/*
 * Replays of the journal. The process of a run may die at any moment: the text of its journal must
 * give the same engine again, with the same answers.
 */
#include "world.h"

#include "base/mem.h"
#include "plan/engine/engine_journal.h"
#include "plan/engine/engine_line.h"

#include <stdlib.h>
#include <string.h>

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * 0x100000001B3U;
}

void hash_actions(uint64_t *hash, const struct actions *actions)
{
    for (size_t i = 0; i < actions->list.n; i++) {
        const struct action *a = &actions->list.v[i];
        mix(hash, (uint64_t)a->kind ^ (uint64_t)a->task << 8);
        if (a->kind == DO_END_ATTEMPT) {
            mix(hash, (uint64_t)a->outcome.kind ^ (uint64_t)a->outcome.workspace << 8);
            mix(hash, (uint64_t)a->outcome.delay_ms);
        } else if (a->kind == DO_WAKE_LANE || a->kind == DO_PUBLISH_LATER) {
            mix(hash, (uint64_t)a->ms);
        } else if (a->kind == DO_LAND || a->kind == DO_PUBLISH) {
            mix(hash, a->yes);
        } else if (a->kind == DO_START) {
            mix(hash, a->start);
        }
    }
}

/* Returns false if a line was refused. */
static bool replay(const struct buf *journal, struct engine_replay *r, uint64_t *ret_answers)
{
    for (const char *at = journal->s, *end; (end = strchr(at, '\n')); at = end + 1) {
        if (engine_replay_line(r, at, (size_t)(end - at), NULL))
            return false;
        hash_actions(ret_answers, &r->actions);
    }
    return r->sections == 1;
}

/* The first line of b that differs from the one in a. */
static void find_difference(const char *a, const char *b, char ret[80])
{
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    while (same && b[same - 1] != '\n')
        same--;
    size_t len = strcspn(b + same, "\n");
    len = len < 79 ? len : 79;
    memcpy(ret, b + same, len);
    ret[len] = '\0';
}

static void compare_engines(struct world *w)
{
    autobuf struct buf old = BUF_INIT, new = BUF_INIT;
    char line[80];
    print_engine(&old, w->engine);
    print_engine(&new, w->replayed);
    if (strcmp(old.s, new.s) == 0)
        return;
    find_difference(old.s, new.s, line);
    buf_done(&old); /* broken() does not return */
    buf_done(&new);
    broken(w, "a replay of the journal makes another engine: %s", line);
}

void write_journal(const struct world *w, struct buf *out)
{
    buf_addstr(out, w->begin.s);
    for (size_t i = 0; i < w->heard.n; i++)
        engine_line_write(out, &w->heard.v[i]);
}

void replay_journal(struct world *w)
{
    struct buf journal = BUF_INIT;
    uint64_t answers = 0;
    w->replayed = mem_alloc(sizeof(*w->replayed));
    struct engine_replay r = {
        .plan = &w->plan, .graph = &w->graph, .claims = &w->claims, .engine = w->replayed};
    write_journal(w, &journal);
    bool done = replay(&journal, &r, &answers);
    buf_done(&journal); /* broken() does not return */
    engine_replay_done(&r);
    if (!done)
        broken(w, "the journal cannot be replayed");
    compare_engines(w);
    if (answers != w->answers)
        broken(w, "a replay of the journal gives other answers");
    world_replace_engine(w);
}
