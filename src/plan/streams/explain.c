/*
 * Explains streams in words: the reason for the place of each batch, and the gain.
 */
#include "plan/streams/streams.h"

enum { TIES_SHOWN = 6 };

const char *const tie_names[TIE_KIND_COUNT_] = {
    [TIE_DEPENDS] = "depends_on",
    [TIE_OWNS] = "owns",
    [TIE_SUMMARY] = "summary",
    [TIE_FOLLOWS] = "sequence",
};

static const char *get_id(const struct streams *s, uint32_t batch)
{
    return s->plan->batches.v[batch].id;
}

void streams_say_ids(const struct streams *s, const struct stream *stream, size_t most,
                     struct buf *out)
{
    for (size_t i = 0; i < stream->n && i < most; i++)
        buf_addf(out, "%s%s", i ? ", " : "", get_id(s, stream->batches[i]));
    if (stream->n > most)
        buf_addf(out, " and %zu more", stream->n - most);
}

void streams_say_tie(const struct streams *s, const struct tie *tie, struct buf *out)
{
    const char *early = get_id(s, tie->early), *late = get_id(s, tie->late);
    switch (tie->kind) {
    case TIE_DEPENDS:
        buf_addf(out, "%s needs %s", late, early);
        break;
    case TIE_OWNS:
        buf_addf(out, "%s owns '%s', %s owns '%s'", late, tie->late_claim->text, early,
                 tie->early_claim->text);
        break;
    case TIE_SUMMARY:
        buf_addf(out, "%s takes the summary of %s", late, early);
        break;
    case TIE_FOLLOWS:
    case TIE_KIND_COUNT_:
        buf_addf(out, "%s follows %s", late, early);
        break;
    }
}

/* Describes a tie from the side of one of its batches. */
static void describe_tie(const struct streams *s, const struct tie *tie, uint32_t batch,
                         struct buf *out)
{
    static const char *const late[] = {"needs", "", "takes the summary of", "follows"};
    static const char *const early[] = {"is needed by", "", "sums up for", "is followed by"};
    bool is_late = tie->late == batch;
    const char *other = get_id(s, is_late ? tie->early : tie->late);
    if (tie->kind != TIE_OWNS)
        buf_addf(out, "%s %s", (is_late ? late : early)[tie->kind], other);
    else
        buf_addf(out, "shares '%s' with %s", (is_late ? tie->late_claim : tie->early_claim)->text,
                 other);
}

static void describe_ties(const struct streams *s, uint32_t batch, struct buf *out)
{
    uint32_t first = s->ties_at[batch], end = s->ties_at[batch + 1];
    for (uint32_t i = first; i < end && i < first + TIES_SHOWN; i++) {
        const struct tie *tie = &s->ties.v[s->ties_of[i]];
        buf_addstr(out, i > first ? ", " : "");
        describe_tie(s, tie, batch, out);
        buf_addstr(out, tie->cut ? " (cut)" : "");
    }
    if (end - first > TIES_SHOWN)
        buf_addf(out, " and %u more", end - first - TIES_SHOWN);
}

void streams_say_why(const struct streams *s, uint32_t batch, struct buf *out)
{
    if (s->ties_at[batch] < s->ties_at[batch + 1])
        describe_ties(s, batch, out);
    else if (s->forced)
        buf_addstr(out, "nothing ties it");
    else
        buf_addstr(out, "nothing ties it: put into the lightest stream");
}

static void list_tie_kinds(const struct streams *s, struct buf *out)
{
    size_t counts[TIE_KIND_COUNT_] = {0}, shown = 0;
    static const char *const words[] = {"depends_on", "paths that both own", "summaries",
                                        "following one another without a depends_on"};
    for (size_t i = 0; i < s->ties.n; i++)
        counts[s->ties.v[i].kind]++;
    for (int k = 0; k < TIE_KIND_COUNT_; k++) {
        if (counts[k])
            buf_addf(out, "%s%s", shown++ ? ", " : "", words[k]);
    }
}

void streams_say_verdict(const struct streams *s, const char *plan, struct buf *out)
{
    if (s->verdict == STREAMS_TOO_SMALL) {
        buf_addf(
            out,
            "Too small to gain: %zu batch%s, and streams are worth their overhead from %d on.\n"
            "Let one session do the plan, or run its agents as tasks: anabranch run %s\n",
            s->batches, s->batches == 1 ? "" : "es", STREAMS_WORTHWHILE, plan);
    } else if (s->verdict == STREAMS_ENTANGLED) {
        buf_addf(out, "Too entangled to gain: all %zu batches hang together by ", s->batches);
        list_tie_kinds(s, out);
        buf_addf(
            out,
            ".\nSay what is independent (`depends_on: []`, or only what is needed), cut it all "
            "the same\n(--split %zu), or run its agents as tasks: anabranch run %s\n",
            s->batches / 2, plan);
    }
}
