#include "view/dashboard/canvas.h"

#include "base/text/text.h"

#include <string.h>

void canvas_init(struct canvas *c, size_t columns)
{
    *c = (struct canvas){.columns = columns};
}

void canvas_done(struct canvas *c)
{
    for (size_t i = 0; i < c->lines.n; i++) {
        buf_done(&c->lines.v[i].text);
        vec_done(&c->lines.v[i].spans);
    }
    vec_done(&c->lines);
}

void canvas_line(struct canvas *c)
{
    vec_push(&c->lines, (struct canvas_line){.text = BUF_INIT});
}

static struct canvas_line *get_last_line(struct canvas *c)
{
    if (!c->lines.n)
        canvas_line(c);
    return &c->lines.v[c->lines.n - 1];
}

void canvas_mark(struct canvas *c)
{
    get_last_line(c)->marked = true;
}

void canvas_style(struct canvas *c, enum style style)
{
    struct canvas_line *l = get_last_line(c);
    if (l->spans.n && l->spans.v[l->spans.n - 1].at == l->text.len)
        l->spans.v[l->spans.n - 1].style = style;
    else
        vec_push(&l->spans, (struct canvas_span){l->text.len, style});
}

size_t canvas_width(const struct canvas *c)
{
    const struct canvas_line *l = c->lines.n ? &c->lines.v[c->lines.n - 1] : NULL;
    return l ? text_width(l->text.s, l->text.len) : 0;
}

static void add_harmless(struct canvas *c, const char *s, size_t len)
{
    struct canvas_line *l = get_last_line(c);
    size_t used = canvas_width(c), room = c->columns > used ? c->columns - used : 0;
    buf_add(&l->text, s, text_fit(s, len, room));
}

void canvas_add(struct canvas *c, const char *s)
{
    autobuf struct buf safe = BUF_INIT;
    text_add_harmless(&safe, s);
    add_harmless(c, safe.s, safe.len);
}

void canvas_addf(struct canvas *c, const char *fmt, ...)
{
    autobuf struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    canvas_add(c, text.s);
}

void canvas_text(struct canvas *c, enum style style, const char *s)
{
    canvas_style(c, style);
    canvas_add(c, s);
    canvas_style(c, STYLE_PLAIN);
}

void canvas_to(struct canvas *c, size_t column)
{
    size_t used = canvas_width(c), to = column < c->columns ? column : c->columns;
    if (used < to)
        buf_addrep(&get_last_line(c)->text, ' ', to - used);
}

/* Cuts the text to the width. */
static void cut_to_width(const char *s, size_t width, struct buf *out)
{
    text_add_harmless(out, s);
    if (text_width(out->s, out->len) <= width)
        return;
    buf_cut(out, text_fit(out->s, out->len, width ? width - 1 : 0));
    if (width)
        buf_addch(out, '~');
}

void canvas_field(struct canvas *c, const char *s, size_t width)
{
    autobuf struct buf text = BUF_INIT;
    size_t start = canvas_width(c);
    cut_to_width(s, width, &text);
    add_harmless(c, text.s, text.len);
    canvas_to(c, start + width + 1);
}

void canvas_right(struct canvas *c, const char *s, size_t width)
{
    autobuf struct buf text = BUF_INIT;
    size_t start = canvas_width(c);
    cut_to_width(s, width, &text);
    size_t used = text_width(text.s, text.len);
    canvas_to(c, start + width - used);
    add_harmless(c, text.s, text.len);
    canvas_to(c, start + width + 1);
}
