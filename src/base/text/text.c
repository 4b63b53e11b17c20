#include "base/text/text.h"

#include "base/mem.h"

#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif

enum { WORD_MAX = 64, FRACTION_MAX = 9 };

/* The forms of a lead byte: its mask and value, the length of the character, and the least
 * character that needs that many bytes (a smaller one is overlong). */
static const struct utf8_form {
    unsigned char mask, lead, len;
    uint32_t least;
} forms[] = {
    {0x80, 0x00, 1, 0x0},
    {0xe0, 0xc0, 2, 0x80},
    {0xf0, 0xe0, 3, 0x800},
    {0xf8, 0xf0, 4, 0x10000},
};

static const struct utf8_form *find_form(unsigned char lead)
{
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if ((lead & forms[i].mask) == forms[i].lead)
            return &forms[i];
    }
    return NULL;
}

static bool is_scalar(uint32_t c)
{
    return c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
}

size_t text_decode(const char *s, size_t len, uint32_t *ret_char)
{
    unsigned char lead = (unsigned char)s[0];
    const struct utf8_form *form = find_form(lead);
    if (!form || form->len > len)
        return 0;
    uint32_t c = lead & (unsigned char)~form->mask;
    for (size_t i = 1; i < form->len; i++) {
        unsigned char byte = (unsigned char)s[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (byte & 0x3f);
    }
    if (c < form->least || !is_scalar(c))
        return 0;
    *ret_char = c;
    return form->len;
}

void text_encode(struct buf *out, uint32_t c)
{
    if (!is_scalar(c))
        c = 0xfffd;
    size_t n = 0;
    while (n + 1 < ARRAY_LEN(forms) && c >= forms[n + 1].least)
        n++;
    char bytes[4];
    for (size_t i = n; i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(forms[n].lead | c);
    buf_add(out, bytes, forms[n].len);
}

/* Counts the ASCII bytes at the start of s, in whole words. Most texts are mostly ASCII, so this is
 * fast. */
static size_t count_ascii(const char *s, size_t len)
{
    size_t at = 0;
    for (uint64_t word; len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, s + at, sizeof(word));
        if (word & 0x8080808080808080u)
            break;
    }
    return at;
}

size_t text_valid(const char *s, size_t len)
{
    size_t at = count_ascii(s, len);
    for (size_t n; at < len; at += n) {
        uint32_t c;
        n = text_decode(s + at, len - at, &c);
        if (!n)
            break;
        if (n == 1)
            n += count_ascii(s + at + 1, len - at - 1);
    }
    return at;
}

static locale_t utf8_locale;

static void open_locale(void)
{
    utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8_locale)
        utf8_locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
}

/* wcwidth() uses the current locale, and the user's may be "C". We switch to a UTF-8 locale for the
 * call. */
static size_t measure_utf8_char(uint32_t c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, open_locale);
    if (!utf8_locale)
        return 1;
    locale_t before = uselocale(utf8_locale);
    int width = wcwidth((wchar_t)c);
    (void)uselocale(before);
    return width < 0 ? 1 : (size_t)width;
}

/* Returns the width of the character at s, and its number of bytes. */
static size_t measure_char(const char *s, size_t len, size_t *ret_bytes)
{
    uint32_t c;
    size_t n = text_decode(s, len, &c);
    *ret_bytes = n ? n : 1;
    return n > 1 ? measure_utf8_char(c) : 1;
}

size_t text_width(const char *s, size_t len)
{
    size_t width = 0;
    for (size_t at = 0, n; at < len; at += n)
        width += measure_char(s + at, len - at, &n);
    return width;
}

size_t text_fit(const char *s, size_t len, size_t columns)
{
    size_t at = 0;
    for (size_t n; at < len; at += n) {
        size_t width = measure_char(s + at, len - at, &n);
        if (width > columns)
            break;
        columns -= width;
    }
    return at;
}

/* Characters beyond ASCII that are invisible and change how the text around them looks. */
static bool is_invisible(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x80, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    }
    return false;
}

static bool is_plain(uint32_t c)
{
    return c < 0x80 ? c >= 0x20 && c != 0x7f : !is_invisible(c);
}

static void add_escaped(struct buf *out, uint32_t c)
{
    static const char shorts[] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', ['\033'] = 'e'};
    if (c < sizeof(shorts) && shorts[c])
        buf_addf(out, "\\%c", shorts[c]);
    else if (c < 0x80)
        buf_addf(out, "\\x%02X", (unsigned)c);
    else
        buf_addf(out, "\\u{%04X}", (unsigned)c);
}

void text_harmless(struct buf *out, const char *s, size_t len)
{
    size_t done = 0; /* out has everything before this offset */
    for (size_t at = 0, n; at < len; at += n) {
        uint32_t c;
        size_t bytes = text_decode(s + at, len - at, &c);
        n = bytes ? bytes : 1;
        if (bytes && is_plain(c))
            continue;
        buf_add(out, s + done, at - done);
        done = at + n;
        if (bytes)
            add_escaped(out, c);
        else
            buf_addf(out, "\\x%02X", (unsigned)(unsigned char)s[at]);
    }
    if (done < len)
        buf_add(out, s + done, len - done);
}

void text_harmless_tabs(struct buf *out, const char *s, size_t len)
{
    while (len) {
        const char *tab = memchr(s, '\t', len);
        size_t n = tab ? (size_t)(tab - s) : len;
        text_harmless(out, s, n);
        if (tab)
            buf_addch(out, '\t');
        s += n + (tab != NULL);
        len -= n + (tab != NULL);
    }
}

void text_add_harmless(struct buf *out, const char *s)
{
    text_harmless(out, s, strlen(s));
}

void text_addf(struct buf *out, const char *fmt, ...)
{
    autobuf struct buf raw = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&raw, fmt, ap);
    va_end(ap);
    text_harmless(out, raw.s, raw.len);
}

void text_escape(struct buf *out, const char *s, const char *special)
{
    for (; *s; s++) {
        if (strchr(special, *s))
            buf_addch(out, '\\');
        buf_addch(out, *s);
    }
}

void text_pad(struct buf *out, size_t start, size_t width)
{
    size_t used = text_width(out->s + start, out->len - start);
    buf_addrep(out, ' ', used < width ? width - used : 0);
}

/* The unread rest of a quantity. */
struct quantity {
    const char *s;
    size_t len;
};

static bool read_digit(struct quantity *in, int *ret_digit)
{
    if (!in->len || in->s[0] < '0' || in->s[0] > '9')
        return false;
    *ret_digit = in->s[0] - '0';
    in->s++;
    in->len--;
    return true;
}

static bool skip_word(struct quantity *in, const char *word)
{
    size_t n = strlen(word);
    if (in->len < n || memcmp(in->s, word, n) != 0)
        return false;
    in->s += n;
    in->len -= n;
    return true;
}

/* whole + part / scale, without rounding. part < scale; scale is 1 if there is no fraction. */
struct decimal {
    int64_t whole, part, scale;
};

static int read_decimal(struct quantity *in, struct decimal *ret)
{
    struct decimal d = {.scale = 1};
    int digit, digits = 0;
    for (; read_digit(in, &digit); digits++) {
        if (__builtin_mul_overflow(d.whole, 10, &d.whole) ||
            __builtin_add_overflow(d.whole, digit, &d.whole))
            return -1;
    }
    bool fraction = digits && skip_word(in, ".");
    for (digits = fraction ? 0 : digits; fraction && read_digit(in, &digit); digits++) {
        if (digits == FRACTION_MAX)
            return -1;
        d.part = d.part * 10 + digit;
        d.scale *= 10;
    }
    *ret = d;
    return digits ? 0 : -1;
}

/* Adds d * unit to *sum. Fails if the result is not exact. */
static int add_scaled(int64_t *sum, struct decimal d, int64_t unit)
{
    int64_t whole, part;
    if (__builtin_mul_overflow(d.whole, unit, &whole) ||
        __builtin_mul_overflow(d.part, unit, &part) || part % d.scale != 0 ||
        __builtin_add_overflow(whole, part / d.scale, &whole) ||
        __builtin_add_overflow(*sum, whole, sum))
        return -1;
    return 0;
}

struct unit {
    const char *name;
    int64_t size;
};

/* Reads the first unit of the table that comes next in the input. If two names begin alike, the
 * table must list the longer one first. */
static const struct unit *read_unit(struct quantity *in, const struct unit *units, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (skip_word(in, units[i].name))
            return &units[i];
    }
    return NULL;
}

int64_t text_parse_duration(const char *s, size_t len)
{
    static const struct unit units[] = {
        {"ms", 1}, {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}};
    struct quantity in = {s, len};
    int64_t sum = 0, previous = INT64_MAX;
    do {
        struct decimal d;
        if (read_decimal(&in, &d) != 0)
            return -1;
        const struct unit *unit = read_unit(&in, units, ARRAY_LEN(units));
        if (!unit && (in.len || d.scale > 1 || previous != INT64_MAX))
            return -1;
        int64_t size = unit ? unit->size : 1000;
        if (size >= previous || (d.scale > 1 && in.len) || add_scaled(&sum, d, size) != 0)
            return -1;
        previous = size;
    } while (in.len);
    return sum;
}

int64_t text_parse_count(const char *s, size_t len)
{
    static const struct unit units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
                                        {"k", 1000},      {"K", 1000},      {"M", 1000000},
                                        {"G", 1000000000}};
    struct quantity in = {s, len};
    struct decimal d;
    if (read_decimal(&in, &d) != 0)
        return -1;
    const struct unit *unit = read_unit(&in, units, ARRAY_LEN(units));
    int64_t sum = 0;
    if (in.len || (!unit && d.scale > 1) || add_scaled(&sum, d, unit ? unit->size : 1) != 0)
        return -1;
    return sum;
}

/* Writes the sign and returns the magnitude. The magnitude of INT64_MIN fits only an unsigned
 * type. */
static uint64_t add_sign(struct buf *out, int64_t n)
{
    if (n < 0)
        buf_addch(out, '-');
    return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

void text_format_duration(struct buf *out, int64_t ms)
{
    static const struct {
        char large, small;
        uint64_t large_ms, small_ms;
    } pairs[] = {
        {'d', 'h', 86400000, 3600000}, {'h', 'm', 3600000, 60000}, {'m', 's', 60000, 1000}};
    uint64_t n = add_sign(out, ms);
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if (n < pairs[i].large_ms)
            continue;
        buf_addf(out, "%llu%c", (unsigned long long)(n / pairs[i].large_ms), pairs[i].large);
        unsigned rest = (unsigned)(n % pairs[i].large_ms / pairs[i].small_ms);
        if (rest)
            buf_addf(out, " %u%c", rest, pairs[i].small);
        return;
    }
    unsigned tenths = (unsigned)(n % 1000 / 100);
    if (n < 1000)
        buf_addf(out, "%ums", (unsigned)n);
    else if (tenths)
        buf_addf(out, "%u.%us", (unsigned)(n / 1000), tenths);
    else
        buf_addf(out, "%us", (unsigned)(n / 1000));
}

void text_format_seconds(struct buf *out, int64_t ms)
{
    if (ms < 1000)
        buf_addstr(out, "0s");
    else
        text_format_duration(out, ms - ms % 1000);
}

/* Divides n by base until it is below base, and writes it. It truncates instead of rounding:
 * otherwise 999999 would become 1000.0k. Returns the number of divisions. */
static size_t add_scaled_down(struct buf *out, uint64_t n, uint64_t base)
{
    size_t power = 0;
    uint64_t rest = 0;
    for (; n >= base; n /= base, power++)
        rest = n % base;
    buf_addf(out, "%u", (unsigned)n);
    if (power)
        buf_addf(out, ".%u", (unsigned)(rest * 10 / base));
    return power;
}

void text_format_count(struct buf *out, int64_t n)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    uint64_t size = add_sign(out, n);
    buf_addstr(out, units[add_scaled_down(out, size, 1000)]);
}

void text_format_bytes(struct buf *out, int64_t n)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    uint64_t size = add_sign(out, n);
    buf_addstr(out, units[add_scaled_down(out, size, 1024)]);
}

static char fold_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_char(char a, char b)
{
    return fold_case(a) == fold_case(b);
}

static unsigned min_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of edits (insert, delete, replace, swap neighbours) between two words, or limit + 1 if
 * there are more. Words longer than WORD_MAX are never close. We fill the table of distances
 * between all prefixes of a and b, and keep its last three rows: a swap looks two rows back. */
static unsigned edit_distance(const char *a, const char *b, unsigned limit)
{
    size_t na = strnlen(a, WORD_MAX + 1), nb = strnlen(b, WORD_MAX + 1);
    size_t apart = na > nb ? na - nb : nb - na;
    if (na > WORD_MAX || nb > WORD_MAX || apart > limit)
        return limit + 1;
    unsigned rows[3][WORD_MAX + 1];
    for (unsigned j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        const unsigned *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        unsigned *row = rows[i % 3], best = row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = min_of(min_of(above[j], row[j - 1]) + 1,
                            above[j - 1] + !same_char(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && same_char(a[i - 1], b[j - 2]) && same_char(a[i - 2], b[j - 1]))
                row[j] = min_of(row[j], two_above[j - 2] + 1);
            best = min_of(best, row[j]);
        }
        if (best > limit + 1)
            return limit + 1;
    }
    return min_of(rows[na % 3][nb], limit + 1);
}

const char *text_nearest(const char *word, const char *const *candidates, size_t n)
{
    size_t len = strnlen(word, WORD_MAX + 1);
    unsigned limit = (unsigned)(len / 3);
    unsigned best = limit ? limit + 1 : 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < n && best; i++) {
        unsigned d = edit_distance(word, candidates[i], best - 1);
        if (d < best && (d < len || d < strlen(candidates[i]))) { /* keep at least one character */
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}

static size_t count_digits(const char *s)
{
    return strspn(s, "0123456789");
}

int text_natural(const char *a, const char *b)
{
    const char *left = a, *right = b;
    while (*left && *right) {
        size_t zeros = strspn(left, "0"), more_zeros = strspn(right, "0");
        size_t len = count_digits(left + zeros), more = count_digits(right + more_zeros);
        bool numbers = zeros + len && more_zeros + more;
        int order = numbers ? (len != more ? (len < more ? -1 : 1)
                                           : strncmp(left + zeros, right + more_zeros, len))
                            : (unsigned char)*left - (unsigned char)*right;
        if (order)
            return order;
        left += numbers ? zeros + len : 1;
        right += numbers ? more_zeros + more : 1;
    }
    return *left || *right ? (unsigned char)*left - (unsigned char)*right : strcmp(a, b);
}
