#include "agent/output/tool_calls.h"
#include "sys/clock.h"

#include <string.h>

enum { TOOLS_MAX = 64, ACTION_MAX = 4096 };

/* FNV-1a */
uint64_t tool_calls_hash(const char *id)
{
    uint64_t h = 0xcbf29ce484222325;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 0x100000001b3;
    return h;
}

static struct tool_call *find_call(const struct tool_calls *t, uint64_t id)
{
    for (size_t i = 0; i < t->list.n; i++) {
        if (t->list.v[i].id == id)
            return &t->list.v[i];
    }
    return NULL;
}

static void remove_call(struct tool_calls *t, struct tool_call *tool)
{
    size_t after = t->list.n - 1 - (size_t)(tool - t->list.v);
    free(tool->action);
    memmove(tool, tool + 1, after * sizeof(*tool));
    t->list.n--;
}

void tool_calls_done(struct tool_calls *t)
{
    while (t->list.n)
        remove_call(t, &t->list.v[t->list.n - 1]);
    vec_done(&t->list);
}

void tool_calls_begin(struct tool_calls *t, const char *id, const char *action, bool asks)
{
    size_t len = strlen(action);
    tool_calls_end(t, id);
    if (t->list.n == TOOLS_MAX)
        remove_call(t, t->list.v);
    vec_push(&t->list, (struct tool_call){
                           .id = tool_calls_hash(id),
                           .action = mem_dup(action, len < ACTION_MAX ? len : ACTION_MAX),
                           .since = clock_mono(),
                           .asks = asks,
                       });
}

void tool_calls_end(struct tool_calls *t, const char *id)
{
    struct tool_call *tool = find_call(t, tool_calls_hash(id));
    if (tool)
        remove_call(t, tool);
}

void tool_calls_helps(struct tool_calls *t, const char *id)
{
    struct tool_call *tool = find_call(t, tool_calls_hash(id));
    if (tool)
        tool->helper = true;
}

bool tool_calls_work(const struct tool_calls *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        if (!t->list.v[i].helper && !t->list.v[i].asks)
            return true;
    }
    return false;
}

const struct tool_call *tool_calls_last(const struct tool_calls *t, bool asks)
{
    for (size_t i = t->list.n; i-- > 0;) {
        if (t->list.v[i].asks == asks)
            return &t->list.v[i];
    }
    return NULL;
}
