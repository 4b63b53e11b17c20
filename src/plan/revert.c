#include "plan/revert.h"

#include "base/mem.h"
#include "base/own.h"

#include <string.h>

static bool is_same(const struct path_entry *a, const struct path_entry *b)
{
    return a && b ? strcmp(a->mode, b->mode) == 0 && strcmp(a->id, b->id) == 0 : a == b;
}

/* True if the task reverted one part (mode or id) of an entry that exists in all three commits. */
static bool is_reverted(const char *start, const char *landed, const char *made)
{
    return strcmp(start, landed) != 0 && strcmp(made, start) == 0;
}

enum revert revert_judge(const struct path_entry *start, const struct path_entry *landed,
                         const struct path_entry *made)
{
    if (is_same(start, landed) || is_same(made, landed))
        return REVERT_NONE;
    if (is_same(made, start))
        return REVERT_WHOLE;
    if (!landed || !made) /* removed on one side and changed on the other */
        return REVERT_NONE;
    if (!start) /* the task may have emptied a file of others */
        return REVERT_LINES;
    return is_reverted(start->id, landed->id, made->id) ||
                   is_reverted(start->mode, landed->mode, made->mode)
               ? REVERT_WHOLE
               : REVERT_LINES;
}

bool revert_moves_old(const struct path_entry *start, const struct path_entry *landed,
                      const struct path_entry *made, const struct path_entry *moved)
{
    return start && landed && !made && moved && strcmp(start->id, landed->id) != 0 &&
           strcmp(moved->id, start->id) == 0;
}

static bool is_same_line(const struct line *a, const struct line *b)
{
    return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

static bool are_same_lines(const struct lines *a, const struct lines *b)
{
    for (size_t i = 0; a->n == b->n && i < a->n; i++) {
        if (!is_same_line(&a->v[i], &b->v[i]))
            return false;
    }
    return a->n == b->n;
}

/* For each beginning of the lines: the length of its longest proper end that is a beginning too. */
static size_t *find_borders(const struct lines *lines)
{
    size_t *border = mem_array(lines->n + 1, sizeof(*border));
    for (size_t i = 1, len = 0; i < lines->n; i++) {
        while (len && !is_same_line(&lines->v[i], &lines->v[len]))
            len = border[len];
        len += is_same_line(&lines->v[i], &lines->v[len]);
        border[i + 1] = len;
    }
    return border;
}

/* True if the wanted lines follow one another somewhere; in linear time (Knuth, Morris, Pratt), as
 * an agent may have written millions of equal lines. */
static bool has_lines(const struct lines *in, const struct lines *wanted)
{
    autofree size_t *border = find_borders(wanted);
    size_t len = 0;
    for (size_t i = 0; i < in->n && len < wanted->n; i++) {
        while (len && !is_same_line(&in->v[i], &wanted->v[len]))
            len = border[len];
        len += is_same_line(&in->v[i], &wanted->v[len]);
    }
    return wanted->n && len == wanted->n;
}

/* Brackets and blank lines are in many edits by chance. */
static bool has_word(const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        for (size_t k = 0; k < lines->v[i].len; k++) {
            unsigned char c = (unsigned char)lines->v[i].s[k];
            if (c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                (c >= 'a' && c <= 'z'))
                return true;
        }
    }
    return false;
}

bool revert_undoes(const struct line_edit *undo, const struct line_edit *made)
{
    bool covers = made->at <= undo->at && made->at + made->removed.n >= undo->at + undo->removed.n;
    if (!covers)
        return false;
    if (made->at == undo->at && made->removed.n == undo->removed.n &&
        are_same_lines(&made->inserted, &undo->inserted))
        return true;
    return has_word(&undo->inserted) && has_lines(&made->inserted, &undo->inserted) &&
           !has_lines(&made->inserted, &undo->removed);
}

bool revert_undoes_any(const struct line_edit *undo, size_t undo_count,
                       const struct line_edit *made, size_t made_count)
{
    for (size_t i = 0, k = 0; i < undo_count; i++) {
        while (k < made_count && made[k].at + made[k].removed.n < undo[i].at)
            k++;
        for (size_t m = k; m < made_count && made[m].at <= undo[i].at; m++) {
            if (revert_undoes(&undo[i], &made[m]))
                return true;
        }
    }
    return false;
}
