#include "view/dashboard/screens/screen.h"

#include "base/text/text.h"

#include <string.h>

void screen_text_clear(struct screen_text *t)
{
    for (size_t i = 0; i < t->lines.n; i++)
        free(t->lines.v[i]);
    t->lines.n = 0;
}

/* Expands tabs to multiples of eight columns. */
static char *expand_tabs(const char *s, size_t len)
{
    autobuf struct buf out = BUF_INIT;
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\t')
            buf_addrep(&out, ' ', 8 - text_width(out.s, out.len) % 8);
        else
            buf_addch(&out, s[i]);
    }
    return buf_steal(&out);
}

void screen_text_add(struct screen_text *t, const char *s, size_t len)
{
    while (len) {
        const char *lf = memchr(s, '\n', len);
        size_t n = lf ? (size_t)(lf - s) : len;
        vec_push(&t->lines, expand_tabs(s, n));
        s += n + (lf != NULL);
        len -= n + (lf != NULL);
    }
}
