#include "view/report/html_escape.h"

#include "base/text/text.h"

#include <string.h>

static void add_escaped(struct buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            buf_addstr(out, "&amp;");
        else if (*s == '<')
            buf_addstr(out, "&lt;");
        else if (*s == '>')
            buf_addstr(out, "&gt;");
        else if (*s == '"')
            buf_addstr(out, "&quot;");
        else if (*s == '\'')
            buf_addstr(out, "&#39;");
        else
            buf_addch(out, *s);
    }
}

void html_bytes(struct buf *out, const char *s, size_t len)
{
    autobuf struct buf line = BUF_INIT;
    text_harmless(&line, s, len);
    add_escaped(out, line.s);
}

void html_text(struct buf *out, const char *s)
{
    html_bytes(out, s, strlen(s));
}

void html_wrap(struct buf *out, const char *before, const char *s, const char *after)
{
    buf_addstr(out, before);
    html_text(out, s);
    buf_addstr(out, after);
}

void html_code(struct buf *out, const char *s, size_t len)
{
    autobuf struct buf line = BUF_INIT;
    text_harmless_tabs(&line, s, len);
    add_escaped(out, line.s);
}
