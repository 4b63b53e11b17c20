/*
 * Writes the prompt of a stream: its own batches in full, and a list of the others.
 */
#include "plan/streams/streams.h"

struct prompt_writer {
    const struct streams *s;
    const struct stream *stream;
    const struct streams_texts *texts;
};

static const struct plan_batch *get_batch_at(const struct prompt_writer *j, size_t i)
{
    return &j->s->plan->batches.v[j->stream->batches[i]];
}

static void add_claims(struct buf *out, const struct claim_list *claims, const char *before)
{
    for (size_t i = 0; i < claims->n; i++)
        buf_addf(out, "%s%s", i ? ", " : before, claims->v[i].text);
}

static void add_others(struct buf *out, const struct prompt_writer *j)
{
    const struct streams *s = j->s;
    size_t self = (size_t)(j->stream - s->list);
    if (s->n < 2)
        return;
    buf_addstr(out,
               "\nOther sessions do these batches while you work. Do not do them, nor any part "
               "of them, and leave\nalone what they own:\n");
    for (uint32_t b = 0; b < s->batches; b++) {
        const struct plan_batch *batch = &s->plan->batches.v[b];
        if (s->stream_of[b] == self)
            continue;
        buf_addf(out, "- batch %s%s%s\n", batch->id, batch->title ? ": " : "",
                 batch->title ? batch->title : "");
        batch_each_task (t, j->s->plan, b) {
            if (t->owns.n) {
                add_claims(out, &t->owns, "  owns ");
                buf_addch(out, '\n');
            }
        }
    }
}

static void add_head(struct buf *out, const struct prompt_writer *j)
{
    const struct plan *plan = j->s->plan;
    buf_addf(out, "You are stream %s", j->stream->id);
    if (j->s->n > 1)
        buf_addf(out, " of %zu", j->s->n);
    if (plan->name)
        buf_addf(out, " of the plan '%s'", plan->name);
    buf_addstr(out, ". You work in a git worktree of your own; what you leave in it is committed\n"
                    "and merged when you have ended. Do not switch branches, merge or push. Nobody "
                    "can answer questions.\n\n");
    buf_addf(out, "Do %s, and all of %s: ",
             j->stream->n == 1 ? "this batch" : "these batches, in this order",
             j->stream->n == 1 ? "it" : "each");
    streams_say_ids(j->s, j->stream, j->stream->n, out);
    buf_addstr(out, ".\n");
    if (j->texts->about)
        buf_addf(out, "\n%s", j->texts->about);
    add_others(out, j);
}

static const char *get_agent_order(const struct plan_batch *b)
{
    if (b->fan_out)
        return "\nIts agents are independent of each other. When all of them are done, sum up what "
               "they found, and give\nthat summary to each agent of the batches behind this one.\n";
    if (b->n < 2)
        return "";
    return b->parallel ? "\nIts agents are independent of each other and may work side by side.\n"
                       : "\nIts agents work one after the other.\n";
}

static void add_agent(struct buf *out, const struct prompt_writer *j, const struct plan_batch *b,
                      const struct task *t)
{
    buf_addch(out, '\n');
    if (b->n > 1)
        buf_addf(out, "### Agent %u of %zu\n\n", t->index - b->first + 1, b->n);
    if (t->agent)
        buf_addf(out, "Give this to the subagent %s:\n\n", t->agent);
    buf_addstr(out, j->texts->prompts[t->index]);
    if (out->s[out->len - 1] != '\n')
        buf_addch(out, '\n');
    if (t->owns.n) {
        add_claims(out, &t->owns, "\nIt may change only: ");
        buf_addch(out, '\n');
    }
    if (t->forbids.n) {
        add_claims(out, &t->forbids, "\nIt must not change: ");
        buf_addch(out, '\n');
    }
    if (t->read_only)
        buf_addstr(out, "\nIt changes nothing: it reports.\n");
}

void streams_prompt(const struct streams *s, const struct stream *stream,
                    const struct streams_texts *texts, struct buf *out)
{
    struct prompt_writer prompt_writer = {s, stream, texts}, *j = &prompt_writer;
    add_head(out, j);
    for (size_t i = 0; i < stream->n; i++) {
        const struct plan_batch *b = get_batch_at(j, i);
        buf_addf(out, "\n## Batch %s%s%s\n", b->id, b->title ? ": " : "", b->title ? b->title : "");
        buf_addstr(out, get_agent_order(b));
        batch_each_task (t, j->s->plan, stream->batches[i])
            add_agent(out, j, b, t);
    }
}
