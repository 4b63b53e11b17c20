/* The journal of an engine: a line that is read is written again as it was, and no other text. */
#include "fuzz.h"

#include "base/buf.h"
#include "plan/engine/engine_line.h"

#include <string.h>

static void check_line(const char *line, size_t len)
{
    autobuf struct buf out = BUF_INIT, again = BUF_INIT;
    struct engine_event ev = {.kind = ENGINE_EVENT_COUNT_}, back;
    struct err err = {0};
    if (engine_line_read(line, len, &ev, &err)) {
        fuzz_check(ev.kind == ENGINE_EVENT_COUNT_ && err.msg[0]);
        fuzz_check(fuzz_is_harmless(err.msg, strlen(err.msg)));
        return;
    }
    engine_line_write(&out, &ev);
    fuzz_check(out.len == len + 1 && memcmp(out.s, line, len) == 0 && out.s[len] == '\n');
    fuzz_check(engine_line_read(out.s, len, &back, &err) == 0);
    engine_line_write(&again, &back);
    fuzz_check(again.len == out.len && memcmp(again.s, out.s, out.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    for (size_t left = size; left;) {
        const char *newline = memchr(at, '\n', left);
        size_t len = newline ? (size_t)(newline - at) : left;
        check_line(at, len);
        at += len + (newline != NULL);
        left -= len + (newline != NULL);
    }
    return 0;
}
