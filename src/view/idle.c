#include "view/idle.h"

#include "base/node/node_build.h"
#include "doc/doc.h"

#include <string.h>

void idle_done(struct idle *idle)
{
    vec_done(&idle->spans);
}

void idle_note(struct idle *idle, int64_t time, const struct node *data)
{
    int64_t ms = data ? node_get_int(data, "idle_ms", 0) : 0;
    if (ms > 0)
        vec_push(&idle->spans, (struct idle_span){time - ms, time});
}

static bool note_resume(void *ctx, const struct store_event *ev)
{
    autoarena struct arena a = {0};
    if (ev->data)
        idle_note(ctx, ev->time, doc_read_line(&a, ev->data, strlen(ev->data)));
    return true;
}

int idle_load(struct idle *idle, struct store *store, const char *run, struct err *err)
{
    return store_each_resume(store, run, note_resume, idle, err);
}

int64_t idle_without(const struct idle *idle, int64_t from, int64_t to)
{
    int64_t ms = to > from ? to - from : 0;
    for (size_t i = 0; i < idle->spans.n; i++) {
        int64_t start = idle->spans.v[i].from, end = idle->spans.v[i].to;
        start = start > from ? start : from;
        end = end < to ? end : to;
        ms -= end > start ? end - start : 0;
    }
    return ms > 0 ? ms : 0;
}
