/*
 * Reads an agent's transcript as a run does, and prints the result.
 *
 *     read ENGINE EXIT_CODE TRANSCRIPT [STDERR]
 *
 * It reads the transcript in pieces of several sizes, which must all give the same result; and cut
 * off at every byte, when only complete lines may count. STDERR is a file with the standard error.
 */
#include "agent/agent.h"
#include "base/mem.h"
#include "plan/words.h"
#include "sys/fs/file.h"
#include "view/transcript.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUT_MAX = 1 << 8 }; /* bytes: longer ones are cut at some places only */

static const struct dialect *dialect;

static void fail(const char *what)
{
    (void)fprintf(stderr, "read: %s\n", what);
    exit(2);
}

static void add(struct buf *out, const char *name, const struct buf *text)
{
    if (text->len)
        buf_addf(out, "%s: %s\n", name, text->s);
}

static void note(void *ctx, enum agent_saying kind, const char *text)
{
    static const char *const names[] = {
        [AGENT_WORDS] = "words", [AGENT_ACTION] = "action", [AGENT_REFUSAL] = "refusal",
        [AGENT_ASK] = "ask",     [AGENT_WAIT] = "wait",     [AGENT_TROUBLE] = "trouble"};
    buf_addf(ctx, "- %s: %s\n", names[kind], text);
}

static void add_report(struct buf *out, const struct agent_report *r)
{
    add(out, "session", &r->session);
    add(out, "model", &r->model);
    add(out, "text", &r->text);
    buf_addf(out, "tokens: %lld in, %lld out, %lld read from cache, %lld cached\n",
             (long long)r->tokens_in, (long long)r->tokens_out, (long long)r->cache_read,
             (long long)r->cache_made);
    if (r->usd >= 0)
        buf_addf(out, "usd: %.6f\n", r->usd);
    if (r->helpers)
        buf_addf(out, "helpers: %d %s\n", r->helpers, r->helper_names.s);
    for (size_t i = 0; i < r->tools.list.n; i++)
        buf_addf(out, "at work: %s\n", r->tools.list.v[i].action);
    add(out, "question", &r->question);
    if (r->denials)
        buf_addf(out, "denials: %d, last %s\n", r->denials, r->denied.s);
    if (r->finished)
        buf_addf(out, "finished: %s\n", r->ok ? "well" : "badly");
}

static void add_verdict(struct buf *out, enum agent_engine engine, const struct agent_report *r,
                        int exit_code, const char *err_text)
{
    enum failure failure = FAILURE_TRANSIENT;
    autobuf struct buf reason = BUF_INIT;
    /* As a shell says it; gemini has larger ones that are its own. */
    int signal = exit_code > 128 && exit_code <= 128 + SIGTERM ? exit_code - 128 : 0;
    if (agent_failed(engine, r, exit_code, signal, err_text, &failure, &reason))
        buf_addf(out, "failed: %s: %s\n", failure_names[failure], reason.s);
    else
        buf_addstr(out, "succeeded\n");
}

/* The first len bytes in pieces; what was said, and the report. */
static void read_pieces(const struct buf *text, size_t len, size_t piece, struct buf *out,
                        struct agent_report *r)
{
    struct dialect_reader reader;
    r->saying = note;
    r->saying_ctx = out;
    dialect_reader_init(&reader, dialect, r);
    for (size_t at = 0; at < len; at += piece)
        dialect_reader_feed(&reader, text->s + at, len - at < piece ? len - at : piece);
    dialect_reader_end(&reader);
    dialect_reader_done(&reader);
    add_report(out, r);
}

static void check_pieces(const struct buf *text, const struct buf *whole)
{
    static const size_t sizes[] = {1, 2, 3, 7, 64, 4096};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct agent_report r = AGENT_REPORT_INIT;
        autobuf struct buf out = BUF_INIT;
        read_pieces(text, text->len, sizes[i], &out, &r);
        agent_report_done(&r);
        if (out.len != whole->len || memcmp(out.s, whole->s, out.len) != 0)
            fail("in other pieces it comes to something else");
    }
}

/* Cut inside of a line, that line does not count: it is as if it were cut before. */
static void check_cuts(const struct buf *text)
{
    size_t line = 0, step = text->len > CUT_MAX ? text->len / CUT_MAX + 1 : 1;
    for (size_t at = 0; at < text->len; at += step) {
        struct agent_report cut = AGENT_REPORT_INIT, before = AGENT_REPORT_INIT;
        autobuf struct buf a = BUF_INIT, b = BUF_INIT;
        while (memchr(text->s + line, '\n', at - line))
            line = (size_t)((char *)memchr(text->s + line, '\n', at - line) - text->s) + 1;
        read_pieces(text, at, text->len, &a, &cut);
        read_pieces(text, line, text->len, &b, &before);
        bool whole = at > line && text->s[at] == '\n'; /* only its end is missing */
        if (!whole && (cut.finished != before.finished || cut.usd != before.usd ||
                       cut.tokens_in != before.tokens_in || cut.failed != before.failed))
            fail("a line that is cut counts");
        agent_report_done(&cut);
        agent_report_done(&before);
    }
}

static enum agent_engine find_engine(const char *name)
{
    for (int i = 1; engine_words[i]; i++) {
        if (strcmp(engine_words[i], name) == 0)
            return (enum agent_engine)i;
    }
    fail("there is no such engine");
    return ENGINE_UNSET;
}

int main(int argc, char **argv)
{
    autobuf struct buf text = BUF_INIT, err_text = BUF_INIT, out = BUF_INIT;
    struct agent_report r = AGENT_REPORT_INIT;
    struct err err = {0};
    if (argc < 4 || argc > 5)
        fail("usage: read ENGINE EXIT_CODE TRANSCRIPT [STDERR]");
    enum agent_engine engine = find_engine(argv[1]);
    dialect = agent_dialect(engine);
    if (file_read(argv[3], SIZE_MAX, &text, &err) ||
        (argc == 5 && file_read(argv[4], SIZE_MAX, &err_text, &err)))
        fail(err.msg);
    read_pieces(&text, text.len, text.len + 1, &out, &r);
    check_pieces(&text, &out);
    check_cuts(&text);
    add_verdict(&out, engine, &r, (int)strtol(argv[2], NULL, 10), err_text.s);
    agent_report_done(&r);
    return fwrite(out.s, 1, out.len, stdout) == out.len && fflush(stdout) == 0 ? 0 : 2;
}
