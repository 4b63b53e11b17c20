#include "base/text/timestamp.h"

#include <stdbool.h>
#include <time.h>

void timestamp_format(struct buf *out, int64_t wall_ms)
{
    int ms = (int)(wall_ms % 1000);
    time_t seconds = (time_t)(wall_ms / 1000);
    if (ms < 0) { /* division rounds towards zero, but time before 1970 counts forward too */
        ms += 1000;
        seconds--;
    }
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm); /* the year of a 64-bit number of milliseconds fits an int */
    buf_addf(out, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900LL, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
}

static bool skip_char(const char **s, char c)
{
    if (**s != c)
        return false;
    ++*s;
    return true;
}

/* Reads exactly n digits, and then the character `behind` unless that is NUL. */
static bool parse_number(const char **s, int n, char behind, int *ret)
{
    int value = 0;
    for (; n > 0; n--, ++*s) {
        if (**s < '0' || **s > '9')
            return false;
        value = value * 10 + (**s - '0');
    }
    *ret = value;
    return !behind || skip_char(s, behind);
}

/* Reads one to nine digits, and ignores those beyond milliseconds. */
static bool parse_fraction(const char **s, int *ret_ms)
{
    int ms = 0, scale = 100, digits = 0;
    for (; **s >= '0' && **s <= '9'; ++*s, digits++, scale /= 10)
        ms += (**s - '0') * scale;
    *ret_ms = ms;
    return digits >= 1 && digits <= 9;
}

int timestamp_parse(const char *s, int64_t *ret_wall_ms)
{
    int year, month, day, hour, minute, second, ms = 0;
    if (!parse_number(&s, 4, '-', &year) || !parse_number(&s, 2, '-', &month) ||
        !parse_number(&s, 2, 'T', &day) || !parse_number(&s, 2, ':', &hour) ||
        !parse_number(&s, 2, ':', &minute) || !parse_number(&s, 2, '\0', &second))
        return -1;
    if (skip_char(&s, '.') && !parse_fraction(&s, &ms))
        return -1;
    if (!skip_char(&s, 'Z') || *s)
        return -1;
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t midnight = timegm(&tm); /* makes 2 March of 30 February; the next line detects it */
    if (tm.tm_mday != day || tm.tm_mon != month - 1 || hour > 23 || minute > 59 || second > 59)
        return -1;
    *ret_wall_ms = ((int64_t)midnight + hour * 3600 + minute * 60 + second) * 1000 + ms;
    return 0;
}
