#include "plan/engine/rules/decision.h"

#include "base/mem.h"

#include <string.h>

_Static_assert(FACT_COUNT_ <= 64, "struct facts has a bit for each fact");

void facts_set(struct facts *f, enum fact fact, bool yes)
{
    f->known |= UINT64_C(1) << fact;
    f->yes = yes ? f->yes | UINT64_C(1) << fact : f->yes & ~(UINT64_C(1) << fact);
}

static bool is_excluded(const struct decision_row *r, uint64_t state, const struct facts *f)
{
    return (r->states && !(r->states & state)) || (r->yes & f->known & ~f->yes) || (r->no & f->yes);
}

static enum fact find_first(uint64_t facts)
{
    int fact = 0;
    while (!(facts & UINT64_C(1) << fact))
        fact++;
    return (enum fact)fact;
}

const struct decision_row *decision_find(const struct decision_row *rows, enum task_state state,
                                         const struct facts *f, enum fact *ret_ask)
{
    while (is_excluded(rows, 1U << state, f))
        rows++;
    uint64_t unknown = (rows->yes | rows->no) & ~f->known;
    if (!unknown)
        return rows;
    *ret_ask = find_first(unknown);
    return NULL;
}

static const char *find_word(const struct decision_words *w, const char *name, size_t len)
{
    const struct {
        const char *name, *word;
    } words[] = {{"id", w->id}, {"need", w->need}, {"run", w->run}, {"state", w->state}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strlen(words[i].name) == len && strncmp(words[i].name, name, len) == 0)
            return words[i].word;
    }
    return "";
}

void decision_text(struct buf *out, const char *text, const struct decision_words *words)
{
    while (*text) {
        size_t plain = strcspn(text, "{"), len = strcspn(text + plain, "}");
        buf_add(out, text, plain);
        if (text[plain])
            buf_addstr(out, find_word(words, text + plain + 1, len - 1));
        text += plain + len + (text[plain] == '{');
    }
}
