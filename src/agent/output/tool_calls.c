#include "agent/output/tool_calls.h"

#include "base/text/clock.h"

#include <string.h>

enum { TOOLS_MAX = 64, ACTION_MAX = 4096 };

/* FNV-1a */
uint64_t agent_tools_hash(const char *id)
{
    uint64_t h = 0xcbf29ce484222325;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 0x100000001b3;
    return h;
}

static struct agent_tool *find(const struct agent_tools *t, uint64_t id)
{
    for (size_t i = 0; i < t->list.n; i++) {
        if (t->list.v[i].id == id)
            return &t->list.v[i];
    }
    return NULL;
}

static void take_out(struct agent_tools *t, struct agent_tool *tool)
{
    size_t behind = t->list.n - 1 - (size_t)(tool - t->list.v);
    free(tool->action);
    memmove(tool, tool + 1, behind * sizeof(*tool));
    t->list.n--;
}

void agent_tools_done(struct agent_tools *t)
{
    while (t->list.n)
        take_out(t, &t->list.v[t->list.n - 1]);
    vec_done(&t->list);
}

void agent_tools_begin(struct agent_tools *t, const char *id, const char *action, bool asks)
{
    size_t len = strlen(action);
    agent_tools_end(t, id);
    if (t->list.n == TOOLS_MAX)
        take_out(t, t->list.v);
    vec_push(&t->list, (struct agent_tool){
                           .id = agent_tools_hash(id),
                           .action = mem_dup(action, len < ACTION_MAX ? len : ACTION_MAX),
                           .since = clock_mono(),
                           .asks = asks,
                       });
}

void agent_tools_end(struct agent_tools *t, const char *id)
{
    struct agent_tool *tool = find(t, agent_tools_hash(id));
    if (tool)
        take_out(t, tool);
}

void agent_tools_helps(struct agent_tools *t, const char *id)
{
    struct agent_tool *tool = find(t, agent_tools_hash(id));
    if (tool)
        tool->helper = true;
}

bool agent_tools_work(const struct agent_tools *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        if (!t->list.v[i].helper && !t->list.v[i].asks)
            return true;
    }
    return false;
}

const struct agent_tool *agent_tools_last(const struct agent_tools *t, bool asks)
{
    for (size_t i = t->list.n; i-- > 0;) {
        if (t->list.v[i].asks == asks)
            return &t->list.v[i];
    }
    return NULL;
}
