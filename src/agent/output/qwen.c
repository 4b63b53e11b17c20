/*
 * qwen's stream-json equals claude's, except for errors of the model's server: "[API Error: 401
 * ...]". Up to 0.15 such an error is the text of an ordinary, successful result; since then it is
 * the message of an error. Input tokens include cached ones. The tokens of a result count the
 * whole session, even if it was resumed.
 */
#include "agent/output/dialect.h"
#include "plan/cause.h"

#include <string.h>

static void read_line(struct agent_report *r, const struct dialect_line *l)
{
    static const char mark[] = "[API Error: ";
    bool finished = r->finished;
    r->finished = false;
    dialect_claude.read_line(r, l);
    if (!r->finished) { /* this line was not a result */
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

const struct dialect dialect_qwen = {.read_line = read_line, .like = &dialect_claude};

/* Reads "[qwen-code] Waiting for API capacity... attempt 1, retry in 7170s", which qwen prints
 * twice a minute. */
void dialect_qwen_hear(struct agent_report *r, const char *line)
{
    static const char mark[] = "[qwen-code] Waiting for API capacity", in[] = "retry in ";
    const char *at = strncmp(line, mark, strlen(mark)) == 0 ? strstr(line, in) : NULL;
    if (at)
        dialect_wait(r, "waits for its model", dialect_number_behind(at, in) * 1000);
}
