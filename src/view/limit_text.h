/*
 * Usage limits as text: the limited engine, the end of the limit, and the number of waiting tasks.
 */
#ifndef VIEW_LIMIT_TEXT_H
#define VIEW_LIMIT_TEXT_H

#include "base/buf.h"
#include "base/node/node.h"
#include "base/vec.h"

#include <stdint.h>

struct limit_shown {
    int64_t lane;    /* each account of an engine has its own lane */
    int64_t until;   /* the time of the next try; ms since 1970 */
    char engine[16]; /* its name */
};

struct limits_shown {
    VEC(struct limit_shown) list;
};
void limits_shown_done(struct limits_shown *l);

/* They take the data of limit.opened and limit.closed, and the time of the former. */
void limits_opened(struct limits_shown *l, const struct node *data, int64_t time);
void limits_closed(struct limits_shown *l, const struct node *data);

/* "claude: limit until 15:00, 12m; 3 tasks parked", with a date if it is more than a day away. */
void limit_text(const struct limit_shown *limit, size_t parked, int64_t now, struct buf *out);

/* "claude: limit until 15:00, 12m" */
void limit_text_data(const struct node *data, int64_t time, struct buf *out);

#endif
