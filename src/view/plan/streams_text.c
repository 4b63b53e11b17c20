#include "view/plan/streams_text.h"

#include "base/node/node_build.h"
#include "base/text/shell_quote.h"
#include "base/text/text.h"

#include <string.h>

enum { CUTS_MAX = 20 };

static void add_weight(const struct streams *s, int64_t weight, struct buf *out)
{
    if (s->estimated)
        text_format_duration(out, weight);
    else
        buf_addf(out, "%lld agent%s", (long long)weight, weight == 1 ? "" : "s");
}

static void add_head(const struct streams *s, const char *plan, struct buf *out)
{
    text_addf(out, "Plan: %s", plan);
    if (s->plan->name)
        text_addf(out, " (%s)", s->plan->name);
    buf_addf(out, "\nBatches: %zu in %zu component%s, ", s->batches, s->components,
             s->components == 1 ? "" : "s");
    add_weight(s, s->total, out);
    buf_addch(out, '\n');
}

static void add_batch(const struct streams *s, uint32_t batch, size_t width, struct buf *out)
{
    const struct plan_batch *b = &s->plan->batches.v[batch];
    autobuf struct buf why = BUF_INIT;
    buf_addf(out, "  %-*s  ", (int)width, b->id);
    streams_say_why(s, batch, &why);
    text_add_harmless(out, why.s);
    if (b->title)
        text_addf(out, "  [%s]", b->title);
    buf_addch(out, '\n');
}

static void add_stream(const struct streams *s, const struct stream *st, struct buf *out)
{
    size_t width = 1;
    for (size_t i = 0; i < st->n; i++) {
        size_t len = strlen(s->plan->batches.v[st->batches[i]].id);
        width = len > width ? len : width;
    }
    buf_addf(out, "\nStream %s: %zu batch%s, ", st->id, st->n, st->n == 1 ? "" : "es");
    add_weight(s, st->weight, out);
    buf_addch(out, '\n');
    for (size_t i = 0; i < st->n; i++)
        add_batch(s, st->batches[i], width, out);
}

void streams_text_cuts(const struct streams *s, struct buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < s->ties.n && shown < CUTS_MAX; i++) {
        autobuf struct buf why = BUF_INIT;
        if (!s->ties.v[i].cut)
            continue;
        shown++;
        streams_say_tie(s, &s->ties.v[i], &why);
        text_addf(out, "warning: cut apart: %s", why.s);
        buf_addch(out, '\n');
    }
    if (s->cuts > shown)
        buf_addf(out, "warning: and %zu more\n", s->cuts - shown);
}

void streams_text(const struct streams *s, const char *plan, struct buf *out)
{
    autobuf struct buf quoted = BUF_INIT, verdict = BUF_INIT;
    add_head(s, plan, out);
    for (size_t i = 0; i < s->n; i++)
        add_stream(s, &s->list[i], out);
    buf_addf(out, "\nExpected speed-up: %.2f, with %zu session%s%s\n", streams_speed_up(s), s->n,
             s->n == 1 ? "" : "s",
             s->cuts ? ", if the batches cut apart do not need each other" : "");
    shell_quote(&quoted, "", plan, NULL);
    streams_say_verdict(s, quoted.s + 1, &verdict);
    buf_addstr(out, verdict.len ? "\n" : "");
    buf_add(out, verdict.s, verdict.len);
}

static void put_weight(const struct streams *s, struct arena *a, struct node *map, int64_t weight)
{
    if (s->estimated)
        node_put_int(a, map, "weight_ms", weight);
    else
        node_put_int(a, map, "weight", weight);
}

static void put_batch(const struct streams *s, struct arena *a, struct node *list, uint32_t batch)
{
    const struct plan_batch *b = &s->plan->batches.v[batch];
    struct node *map = node_add_map(a, list);
    autobuf struct buf why = BUF_INIT;
    streams_say_why(s, batch, &why);
    node_put_string(a, map, "id", b->id);
    node_put_string(a, map, "title", b->title);
    node_put_int(a, map, "agents", (int64_t)b->n);
    put_weight(s, a, map, s->weight[batch]);
    node_put_string(a, map, "component", s->plan->batches.v[s->component[batch]].id);
    node_put_string(a, map, "why", why.s);
}

static void put_stream(const struct streams *s, struct arena *a, struct node *list,
                       const struct stream *st)
{
    struct node *map = node_add_map(a, list);
    node_put_string(a, map, "id", st->id);
    put_weight(s, a, map, st->weight);
    struct node *batches = node_put_list(a, map, "batches");
    for (size_t i = 0; i < st->n; i++)
        put_batch(s, a, batches, st->batches[i]);
}

static void put_tie(const struct streams *s, struct arena *a, struct node *list,
                    const struct tie *tie)
{
    struct node *map = node_add_map(a, list);
    node_put_string(a, map, "early", s->plan->batches.v[tie->early].id);
    node_put_string(a, map, "late", s->plan->batches.v[tie->late].id);
    node_put_string(a, map, "by", tie_names[tie->kind]);
    if (tie->kind == TIE_OWNS) {
        node_put_string(a, map, "early_path", tie->early_claim->text);
        node_put_string(a, map, "late_path", tie->late_claim->text);
    }
    node_put_bool(a, map, "cut", tie->cut);
}

struct node *streams_text_json(const struct streams *s, const char *plan, struct arena *a)
{
    static const char *const verdicts[] = {[STREAMS_GAIN] = "gain",
                                           [STREAMS_TOO_SMALL] = "too small",
                                           [STREAMS_ENTANGLED] = "entangled"};
    struct node *map = node_new_map(a);
    node_put_string(a, map, "plan", plan);
    node_put_string(a, map, "name", s->plan->name);
    node_put_int(a, map, "batches", (int64_t)s->batches);
    node_put_int(a, map, "components", (int64_t)s->components);
    put_weight(s, a, map, s->total);
    node_put_bool(a, map, "forced", s->forced);
    node_put_real(a, map, "speed_up", streams_speed_up(s));
    node_put_string(a, map, "verdict", verdicts[s->verdict]);
    struct node *streams = node_put_list(a, map, "streams");
    for (size_t i = 0; i < s->n; i++)
        put_stream(s, a, streams, &s->list[i]);
    struct node *ties = node_put_list(a, map, "ties");
    for (size_t i = 0; i < s->ties.n; i++)
        put_tie(s, a, ties, &s->ties.v[i]);
    return map;
}
