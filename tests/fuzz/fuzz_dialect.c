/*
 * The output of agents: for any bytes, memory is bounded, and the result does not depend on the
 * sizes of the pieces. Each dialect has a program of its own: FUZZ_DIALECT names it.
 */
#include "fuzz.h"

#include "agent/output/dialect.h"
#include "base/mem.h"

#include <string.h>

static void note(void *ctx, enum agent_saying kind, const char *text)
{
    fuzz_check(strlen(text) <= 4 * JSON_TEXT_MAX);
    buf_addf(ctx, "%d %s\n", (int)kind, text);
}

static void read_pieces(const char *bytes, size_t n, size_t piece, struct buf *out)
{
    struct agent_report r = AGENT_REPORT_INIT;
    struct dialect_reader reader;
    r.saying = note;
    r.saying_ctx = out;
    dialect_reader_init(&reader, &FUZZ_DIALECT, &r);
    for (size_t at = 0; at < n; at += piece)
        dialect_reader_feed(&reader, bytes + at, n - at < piece ? n - at : piece);
    dialect_reader_end(&reader);
    fuzz_check(reader.json.text.cap <= 4 * JSON_TEXT_MAX);
    fuzz_check(r.tools.list.n <= 64 && r.helper_names.len <= 1024);
    buf_addf(out, "%zu %s %s %s %lld %lld %d %d %d", reader.lines, r.session.s, r.text.s,
             r.reason.s, (long long)r.tokens_in, (long long)r.tokens_out, r.finished, r.ok,
             r.failed);
    dialect_reader_done(&reader);
    agent_report_done(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    autobuf struct buf whole = BUF_INIT;
    read_pieces(bytes, size, size, &whole);
    for (size_t piece = 1; piece < 5; piece++) {
        autobuf struct buf pieces = BUF_INIT;
        read_pieces(bytes, size, piece, &pieces);
        fuzz_check(pieces.len == whole.len && memcmp(pieces.s, whole.s, whole.len) == 0);
    }
    return 0;
}
