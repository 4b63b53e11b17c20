/*
 * Streams as text and as JSON: the batches of each stream, the reasons, the gain.
 */
#ifndef VIEW_PLAN_STREAMS_TEXT_H
#define VIEW_PLAN_STREAMS_TEXT_H

#include "plan/streams/streams.h"

/* plan: the name of the file. */
void streams_text(const struct streams *s, const char *plan, struct buf *out);
struct node *streams_text_json(const struct streams *s, const char *plan, struct arena *a);

/* Appends a line for each tie that a forced split cuts; after twenty lines, the number of the
 * others. */
void streams_text_cuts(const struct streams *s, struct buf *out);

#endif
