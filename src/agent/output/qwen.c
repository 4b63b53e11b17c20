/*
 * qwen's stream-json is claude's, but for what a model's server answers: "[API Error: 401 ...]". Up
 * to 0.15 that is the text of a result like any other, a success; since then the message of its
 * error. Its tokens are those that were cached as well, and in a result those of the whole session,
 * also where that was taken up again.
 */
#include "agent/output/dialect.h"
#include "plan/cause.h"

#include <string.h>

static void take(struct agent_report *r, const struct dialect_line *l)
{
    static const char mark[] = "[API Error: ";
    bool finished = r->finished;
    r->finished = false;
    dialect_claude.take(r, l);
    if (!r->finished) { /* it was another line */
        r->finished = finished;
        return;
    }
    r->tokens_in -= r->cache_read < r->tokens_in ? r->cache_read : r->tokens_in;
    dialect_take_off(r);
    if (strncmp(r->text.s, mark, strlen(mark)) != 0)
        return;
    r->ok = false;
    dialect_fail(r, cause_of(dialect_number_behind(r->text.s, mark), r->text.s), r->text.s);
}

const struct dialect dialect_qwen = {.take = take, .like = &dialect_claude};

/* "[qwen-code] Waiting for API capacity... attempt 1, retry in 7170s", twice a minute. */
void dialect_qwen_hear(struct agent_report *r, const char *line)
{
    static const char mark[] = "[qwen-code] Waiting for API capacity", in[] = "retry in ";
    const char *at = strncmp(line, mark, strlen(mark)) == 0 ? strstr(line, in) : NULL;
    if (at)
        dialect_wait(r, "waits for its model", dialect_number_behind(at, in) * 1000);
}
