/* Text for people: for any input, the output is printable, and quantities keep their value. */
#include "fuzz.h"

#include "base/text/text.h"

#include <string.h>

static void check_harmless(const char *s, size_t len)
{
    autobuf struct buf once = BUF_INIT, twice = BUF_INIT;
    text_harmless(&once, s, len);
    fuzz_check(fuzz_is_harmless(once.s, once.len));
    fuzz_check(strlen(once.s) == once.len && text_valid(once.s, once.len) == once.len);
    text_harmless(&twice, once.s, once.len);
    fuzz_check(twice.len == once.len && memcmp(twice.s, once.s, once.len) == 0);
}

static void check_utf8(const char *s, size_t len)
{
    autobuf struct buf copy = BUF_INIT;
    size_t valid = text_valid(s, len);
    fuzz_check(valid <= len);
    for (size_t at = 0, n; at < valid; at += n) {
        uint32_t c;
        n = text_decode(s + at, valid - at, &c);
        fuzz_check(n);
        text_encode(&copy, c);
    }
    fuzz_check(copy.len == valid && memcmp(copy.s, s, valid) == 0);
}

static void check_width(const char *s, size_t len, size_t columns)
{
    size_t fit = text_fit(s, len, columns);
    fuzz_check(fit <= len && text_width(s, fit) <= columns);
    fuzz_check(text_width(s, len) <= 2 * len);
    fuzz_check(fit == len || text_width(s, fit + 1) >= text_width(s, fit));
}

/* The formats cut off: what they say, read again, is no more than what they were given. */
static void check_quantities(const char *s, size_t len)
{
    autobuf struct buf duration = BUF_INIT, count = BUF_INIT, bytes = BUF_INIT;
    int64_t ms = text_parse_duration(s, len), n = text_parse_count(s, len);
    fuzz_check(ms >= -1 && n >= -1);
    text_format_duration(&duration, ms);
    text_format_count(&count, n);
    text_format_bytes(&bytes, n);
    fuzz_check(duration.len && count.len && bytes.len > 2);
    for (char *space; (space = strchr(duration.s, ' ')); duration.len--)
        memmove(space, space + 1, strlen(space));
    if (ms >= 0) {
        int64_t again = text_parse_duration(duration.s, duration.len);
        fuzz_check(again >= 0 && again <= ms && ms - again <= ms / 10);
    }
    if (n >= 0 && !strpbrk(count.s, "TPE")) {
        int64_t again = text_parse_count(count.s, count.len);
        fuzz_check(again >= 0 && again <= n && n - again <= n / 10);
    }
}

static void check_nearest(struct fuzz_input in)
{
    autofree char *a = fuzz_line(&in), *b = fuzz_line(&in), *c = fuzz_line(&in);
    const char *const candidates[] = {b, c};
    const char *near = text_nearest(a, candidates, 2);
    fuzz_check(!near || near == b || near == c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *s = (const char *)data;
    check_harmless(s, size);
    check_utf8(s, size);
    check_width(s, size, size ? data[size - 1] % 40 : 0);
    check_quantities(s, size);
    check_nearest((struct fuzz_input){data, size});
    return 0;
}
