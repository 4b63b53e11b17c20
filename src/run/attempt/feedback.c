#include "run/attempt/feedback.h"

#include "agent/agent.h"
#include "base/mem.h"
#include "project/secrets.h"
#include "run/attempt/attempt.h"
#include "run/state/run_state.h"
#include "run/state/status.h"
#include "sys/fs/file.h"

#include <stdlib.h>
#include <string.h>

enum { TAIL_MAX = 4096, CHATTER_MAX = 4 << 20 };

char *attempt_file(const struct attempt *attempt, const char *name)
{
    return mem_printf("%s/%s", attempt->dir, name);
}

void attempt_read_tail(const struct attempt *attempt, const char *name, struct buf *out)
{
    autofree char *path = attempt_file(attempt, name);
    autobuf struct buf tail = BUF_INIT;
    struct secrets_cut cut = {0};
    if (file_read_end(path, CHATTER_MAX, &tail, &cut.front, NULL))
        return;
    if (strcmp(name, "err") == 0)
        agent_drop_chatter(run_engine(attempt->run, attempt->task), &tail);
    size_t skip = tail.len > TAIL_MAX ? tail.len - TAIL_MAX : 0;
    cut.front = cut.front || skip;
    secrets_mask_cut(&attempt->run->secrets, tail.s + skip, tail.len - skip, cut, out);
}

void attempt_tell(struct attempt *attempt, const char *text)
{
    struct task_run *tr = task_run(attempt);
    autobuf struct buf masked = BUF_INIT;
    secrets_mask(&attempt->run->secrets, text, strlen(text), &masked);
    free(tr->feedback);
    tr->feedback = buf_steal(&masked);
    attempt->has_feedback = true;
}

void attempt_feedback(struct attempt *attempt, const char *what, int exit_code, const char *output)
{
    autofree char *text = mem_printf("%s: exit code %d. This is the end of what it printed:\n\n%s",
                                     what, exit_code, output);
    attempt_tell(attempt, text);
}
