#include "view/transcript.h"

#include "base/mem.h"
#include "base/text/text.h"
#include "plan/words.h"
#include "run/state/run_folder.h"

#include <string.h>

enum { LINE_BYTES = 1 << 20 };

static void add_line(struct buf *out, const char *s, size_t len)
{
    text_harmless_tabs(out, s, len);
    buf_addch(out, '\n');
}

/* Puts a mark before each line of a text. */
static void add_text(struct buf *out, const char *mark, const char *s, size_t len)
{
    while (len) {
        const char *lf = memchr(s, '\n', len);
        size_t n = lf ? (size_t)(lf - s) : len;
        buf_addstr(out, mark);
        add_line(out, s, n && s[n - 1] == '\r' ? n - 1 : n);
        s += n + (lf != NULL);
        len -= n + (lf != NULL);
    }
}

static void add_saying(void *ctx, enum agent_saying kind, const char *text)
{
    static const char *const marks[] = {
        [AGENT_WORDS] = "", [AGENT_ACTION] = "> ", [AGENT_REFUSAL] = "! ",
        [AGENT_ASK] = "? ", [AGENT_WAIT] = "... ", [AGENT_TROUBLE] = "! "};
    struct transcript *t = ctx;
    size_t len = strlen(text);
    add_text(t->out, marks[kind], text, len);
    if (len == JSON_TEXT_MAX)
        buf_addstr(t->out, "[cut here: --raw shows all of it]\n");
}

const struct dialect *transcript_dialect(const char *engine)
{
    for (int i = 1; engine && engine_words[i]; i++) {
        if (strcmp(engine_words[i], engine) == 0)
            return agent_dialect((enum agent_engine)i);
    }
    return agent_dialect(ENGINE_COMMAND);
}

void transcript_init(struct transcript *t, const struct dialect *dialect)
{
    *t = (struct transcript){.report = AGENT_REPORT_INIT, .line = BUF_INIT};
    t->report.saying = add_saying;
    t->report.saying_ctx = t;
    dialect_reader_init(&t->reader, dialect, &t->report);
}

void transcript_done(struct transcript *t)
{
    dialect_reader_done(&t->reader);
    agent_report_done(&t->report);
    buf_done(&t->line);
    secrets_done(&t->secrets);
}

void transcript_mask(struct transcript *t, const char *run_dir)
{
    run_folder_secrets(run_dir, &t->secrets);
}

static void mask_from(const struct transcript *t, struct buf *out, size_t from)
{
    autofree char *text = mem_dup(out->s + from, out->len - from);
    size_t len = out->len - from;
    buf_cut(out, from);
    secrets_mask(&t->secrets, text, len, out);
}

void transcript_line(struct transcript *t, const char *line, size_t len, struct buf *out)
{
    size_t lines = t->reader.lines, before = out->len;
    t->out = out;
    dialect_reader_feed(&t->reader, line, len);
    dialect_reader_end(&t->reader);
    if (t->reader.lines == lines)
        add_line(out, line, len && line[len - 1] == '\r' ? len - 1 : len);
    if (t->secrets.values.n)
        mask_from(t, out, before);
}

static void finish_line(struct transcript *t, struct buf *out)
{
    if (!t->skips)
        transcript_line(t, t->line.s, t->line.len, out);
    t->skips = false;
    buf_cut(&t->line, 0);
}

void transcript_feed(struct transcript *t, const char *bytes, size_t n, struct buf *out)
{
    while (n) {
        const char *lf = memchr(bytes, '\n', n);
        size_t room = LINE_BYTES - t->line.len, part = lf ? (size_t)(lf - bytes) : n;
        part = part < room ? part : room;
        buf_add(&t->line, bytes, part);
        bool ends = lf && bytes + part == lf;
        if (ends || t->line.len == LINE_BYTES)
            finish_line(t, out);
        bytes += part + ends;
        n -= part + ends;
    }
}

void transcript_end(struct transcript *t, struct buf *out)
{
    if (t->line.len)
        finish_line(t, out);
}

void transcript_skip(struct transcript *t)
{
    t->skips = true;
}
