/*
 * Usage limits as they are shown: which engines wait, until when, and how many tasks for that.
 */
#ifndef VIEW_LIMIT_TEXT_H
#define VIEW_LIMIT_TEXT_H

#include "base/buf.h"
#include "base/node/node.h"
#include "base/vec.h"

#include <stdint.h>

struct limit_shown {
    int64_t lane;    /* two accounts of one engine are two */
    int64_t until;   /* when it is tried again; ms since 1970 */
    char engine[16]; /* its word */
};

struct limits_shown {
    VEC(struct limit_shown) list;
};
void limits_shown_done(struct limits_shown *l);

/* Takes the data of limit.opened and limit.closed, and the time of the former. */
void limits_opened(struct limits_shown *l, const struct node *data, int64_t time);
void limits_closed(struct limits_shown *l, const struct node *data);

/* "claude: limit until 15:00, 12m; 3 tasks parked", with a date where it is not within a day. */
void limit_text(const struct limit_shown *limit, size_t parked, int64_t now, struct buf *out);

/* "claude: limit until 15:00, 12m" */
void limit_text_data(const struct node *data, int64_t time, struct buf *out);

#endif
