#include "doc/yaml/block.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct block {
    const char *text;
    size_t at, end;
    size_t indent; /* columns that are taken off each line */
    bool folded;
    char chomp; /* '-', '+' or '\0' */
};

/* A line without its indentation and line end. */
struct line {
    const char *s;
    size_t len, spaces; /* spaces in front of it, those of the indentation included */
    bool ended;         /* by a line end, not by the end of the text */
};

static bool next_line(struct block *b, struct line *line)
{
    size_t at = b->at, end = at;
    if (at >= b->end)
        return false;
    while (end < b->end && b->text[end] != '\n' && b->text[end] != '\r')
        end++;
    line->ended = end < b->end;
    b->at = end + line->ended;
    if (b->at < b->end && b->text[end] == '\r' && b->text[b->at] == '\n')
        b->at++;
    line->spaces = 0;
    while (at + line->spaces < end && b->text[at + line->spaces] == ' ')
        line->spaces++;
    size_t skip = line->spaces < b->indent ? line->spaces : b->indent;
    line->s = b->text + at + skip;
    line->len = end - at - skip;
    return true;
}

/* That of the first line that is more than spaces; without one, spaces are all there is to take
 * off. */
static size_t find_indent(struct block b)
{
    struct line line;
    while (next_line(&b, &line)) {
        if (line.spaces < line.len)
            return line.spaces;
    }
    return SIZE_MAX;
}

static struct block read_header(const char *text, size_t header, size_t end, size_t indent)
{
    struct block b = {.text = text, .at = header + 1, .end = end, .folded = text[header] == '>'};
    size_t digit = 0;
    for (; b.at < end && strchr("+-0123456789", text[b.at]); b.at++) {
        if (text[b.at] == '+' || text[b.at] == '-')
            b.chomp = text[b.at];
        else
            digit = (size_t)(text[b.at] - '0');
    }
    struct line rest;
    (void)next_line(&b, &rest);
    b.indent = digit ? indent + digit : find_indent(b);
    return b;
}

static bool is_deeper(const struct line *line)
{
    return line->len && (*line->s == ' ' || *line->s == '\t');
}

/* What stands between two lines that `blank` empty ones are between: line ends, of which one is a
 * space, or none, where text is folded. */
static void add_breaks(struct buf *out, const struct block *b, const struct line *before,
                       const struct line *after, size_t blank)
{
    bool folds = b->folded && before->len && !is_deeper(before) && !is_deeper(after);
    if (folds && !blank)
        buf_addch(out, ' ');
    else
        buf_addrep(out, '\n', blank + (before->len && !folds));
}

void yaml_block_text(struct buf *out, const char *text, size_t header, size_t end, size_t indent)
{
    struct block b = read_header(text, header, end, indent);
    struct line line, before = {0}; /* before: the last one that is not empty */
    size_t blank = 0;
    while (next_line(&b, &line)) {
        if (!line.len) {
            blank += line.ended;
            continue;
        }
        if (line.spaces < b.indent)
            break;
        add_breaks(out, &b, &before, &line, blank);
        buf_add(out, line.s, line.len);
        before = line;
        blank = 0;
    }
    if (before.len && before.ended && b.chomp != '-')
        buf_addch(out, '\n');
    if (b.chomp == '+')
        buf_addrep(out, '\n', blank);
}
