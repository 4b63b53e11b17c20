#include "base/text/shell_quote.h"

#include <stdarg.h>
#include <string.h>

static void add_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*word && strspn(word, plain) == strlen(word)) {
        buf_addstr(out, word);
        return;
    }
    buf_addch(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_addstr(out, "'\\''");
        else
            buf_addch(out, *word);
    }
    buf_addch(out, '\'');
}

void shell_quote(struct buf *out, const char *beginning, ...)
{
    va_list ap;
    buf_addstr(out, beginning);
    va_start(ap, beginning);
    for (const char *word; (word = va_arg(ap, const char *));) {
        buf_addch(out, ' ');
        add_word(out, word);
    }
    va_end(ap);
}
