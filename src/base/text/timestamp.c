#include "base/text/timestamp.h"

#include <stdbool.h>
#include <time.h>

void timestamp_format(struct buf *out, int64_t wall_ms)
{
    int ms = (int)(wall_ms % 1000);
    time_t seconds = (time_t)(wall_ms / 1000);
    if (ms < 0) { /* division cuts towards zero, and time before 1970 counts forward as well */
        ms += 1000;
        seconds--;
    }
    struct tm tm = {0};
    (void)gmtime_r(&seconds, &tm); /* 64 bits of milliseconds are a year that an int holds */
    buf_addf(out, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900LL, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
}

static bool take_char(const char **s, char c)
{
    if (**s != c)
        return false;
    ++*s;
    return true;
}

/* Exactly n digits and the character behind them, unless that is NUL. */
static bool take_number(const char **s, int n, char behind, int *ret)
{
    int value = 0;
    for (; n > 0; n--, ++*s) {
        if (**s < '0' || **s > '9')
            return false;
        value = value * 10 + (**s - '0');
    }
    *ret = value;
    return !behind || take_char(s, behind);
}

/* One to nine digits, of which those beyond the milliseconds are dropped. */
static bool take_fraction(const char **s, int *ret_ms)
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
    if (!take_number(&s, 4, '-', &year) || !take_number(&s, 2, '-', &month) ||
        !take_number(&s, 2, 'T', &day) || !take_number(&s, 2, ':', &hour) ||
        !take_number(&s, 2, ':', &minute) || !take_number(&s, 2, '\0', &second))
        return -1;
    if (take_char(&s, '.') && !take_fraction(&s, &ms))
        return -1;
    if (!take_char(&s, 'Z') || *s)
        return -1;
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    time_t midnight = timegm(&tm); /* turns 30 February into 2 March, which the next line sees */
    if (tm.tm_mday != day || tm.tm_mon != month - 1 || hour > 23 || minute > 59 || second > 59)
        return -1;
    *ret_wall_ms = ((int64_t)midnight + hour * 3600 + minute * 60 + second) * 1000 + ms;
    return 0;
}
