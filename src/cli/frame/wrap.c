#include "cli/frame/wrap.h"

#include "base/text/text.h"

#include <string.h>

static void break_line(struct wrap *w)
{
    buf_addch(w->out, '\n');
    w->column = 0;
}

void wrap_word(struct wrap *w, const char *s, size_t len)
{
    size_t columns = text_width(s, len);
    if (w->column > w->indent && w->column + 1 + columns > w->width)
        break_line(w);
    if (w->column < w->indent) {
        buf_addrep(w->out, ' ', w->indent - w->column);
        w->column = w->indent;
    } else if (w->column > w->indent) {
        buf_addch(w->out, ' ');
        w->column++;
    }
    buf_add(w->out, s, len);
    w->column += columns;
}

void wrap_text(struct wrap *w, const char *text)
{
    static const char space[] = " \n";
    for (;;) {
        size_t gap = strspn(text, space);
        if (!text[gap])
            return;
        if (w->column > w->indent && gap >= 2 && memmem(text, gap, "\n\n", 2)) {
            break_line(w);
            break_line(w);
        }
        text += gap;
        size_t len = strcspn(text, space);
        wrap_word(w, text, len);
        text += len;
    }
}

void wrap_end(struct wrap *w)
{
    break_line(w);
}
