#include "view/redraw.h"

#include "base/map.h"
#include "base/text/text.h"

#include <string.h>

void redraw_done(struct redraw *r)
{
    buf_done(&r->painted);
}

static size_t count_lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += *s == '\n';
    return n;
}

/* Leaves the last column free, so that no terminal wraps. */
static void fit_to_screen(const char *text, size_t columns, size_t rows, struct buf *out)
{
    size_t all = count_lines(text), room = rows > 1 ? rows - 1 : 1;
    size_t shown = all > room ? room - 1 : all;
    for (size_t i = 0; i < shown; i++) {
        size_t len = strcspn(text, "\n");
        buf_add(out, text, text_fit(text, len, columns > 1 ? columns - 1 : 1));
        buf_addch(out, '\n');
        text += len + 1;
    }
    if (shown < all) {
        size_t start = out->len;
        buf_addf(out, "... and %zu more lines", all - shown);
        buf_cut(out, start + text_fit(out->s + start, out->len - start, columns - 1));
        buf_addch(out, '\n');
    }
}

/* Rows that a painted text takes now: a terminal that became narrower wraps its lines. */
static size_t count_rows(const struct buf *text, size_t columns)
{
    size_t n = 0;
    const char *end;
    for (const char *s = text->s; (end = strchr(s, '\n')); s = end + 1) {
        size_t width = text_width(s, (size_t)(end - s));
        n += width ? (width + columns - 1) / columns : 1;
    }
    return n;
}

void redraw_erase(struct buf *painted, size_t columns, size_t rows, struct buf *out)
{
    size_t up = count_rows(painted, columns);
    up = up >= rows ? rows - 1 : up;
    if (up)
        buf_addf(out, "\033[%zuA", up);
    if (painted->len)
        buf_addstr(out, "\r\033[J");
    buf_cut(painted, 0);
}

void redraw_paint(struct redraw *r, const char *text, size_t columns, size_t rows, struct buf *out)
{
    autobuf struct buf block = BUF_INIT;
    fit_to_screen(text, columns, rows, &block);
    if (columns == r->columns && strcmp(block.s, r->painted.s) == 0)
        return;
    redraw_erase(&r->painted, columns, rows, out);
    buf_add(out, block.s, block.len);
    buf_add(&r->painted, block.s, block.len);
    r->columns = columns;
}

/* Collapses blanks, because a wider column does not make a line new. */
static void collapse_blanks(const char *s, struct buf *out)
{
    for (; *s; s++) {
        if (*s != ' ' || s[1] != ' ')
            buf_addch(out, *s);
    }
}

void redraw_news(const char *before, const char *now, struct buf *out)
{
    autobuf struct buf old = BUF_INIT, fresh = BUF_INIT;
    automap struct map known = {0};
    collapse_blanks(before, &old);
    collapse_blanks(now, &fresh);
    for (const char *s = old.s, *end; (end = strchr(s, '\n')); s = end + 1)
        (void)map_put(&known, s, (size_t)(end - s), &known);
    for (const char *s = fresh.s, *end; (end = strchr(s, '\n')); s = end + 1) {
        size_t len = strcspn(now, "\n") + 1;
        if (!map_get(&known, s, (size_t)(end - s)))
            buf_add(out, now, len);
        now += len;
    }
}
