#include "agent/reset_time.h"

#include "base/mem.h"
#include "base/own.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 8, ZONE_MAX = 64, MINUTE_MS = 60 * 1000 };

static const int64_t day_ms = 24LL * 60 * MINUTE_MS;

/* A moment as the text writes it. */
struct when {
    int year, month, day; /* year 0: no year; day 0: no date; months count from 0 */
    int hour, minute, second;
    bool has_offset;
    int offset;          /* minutes east of Greenwich */
    char zone[ZONE_MAX]; /* "": no zone */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_part(char c)
{
    return is_digit(c) || is_letter(c);
}

static const char *skip_blanks(const char *s)
{
    return s + strspn(s, " \t");
}

static size_t count_letters(const char *s)
{
    size_t n = 0;
    while (is_letter(s[n]))
        n++;
    return n;
}

static size_t count_digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Reads a whole word. */
static bool read_word(const char **s, const char *word)
{
    size_t len = strlen(word);
    if (count_letters(*s) != len || strncasecmp(*s, word, len) != 0)
        return false;
    *s += len;
    return true;
}

/* Reads one to `max` digits; max is at most nine. */
static bool read_number(const char **s, size_t max, int *ret)
{
    size_t n = count_digits(*s);
    if (!n || n > max)
        return false;
    for (*ret = 0; n > 0; n--, ++*s)
        *ret = *ret * 10 + (**s - '0');
    return true;
}

static bool read_char(const char **s, char c)
{
    if (**s != c)
        return false;
    ++*s;
    return true;
}

/* Abbreviations that the zone database lacks, or has only without daylight saving time. */
static const struct {
    const char *word, *zone;
} short_zones[] = {
    {"PT", "America/Los_Angeles"}, {"PST", "America/Los_Angeles"}, {"PDT", "America/Los_Angeles"},
    {"MST", "America/Denver"},     {"MDT", "America/Denver"},      {"CST", "America/Chicago"},
    {"CDT", "America/Chicago"},    {"ET", "America/New_York"},     {"EST", "America/New_York"},
    {"EDT", "America/New_York"},   {"BST", "Europe/London"},       {"CEST", "Europe/Berlin"},
};

static const char *long_zone(const char *zone)
{
    for (size_t i = 0; i < ARRAY_LEN(short_zones); i++) {
        if (strcmp(short_zones[i].word, zone) == 0)
            return short_zones[i].zone;
    }
    return zone;
}

/* The C library treats an unknown zone as UTC, and would open a path as a file. So we check the
 * zone ourselves. */
static bool is_known_zone(const char *zone)
{
    const char *own = getenv("TZDIR");
    autofree char *path = mem_printf("%s/%s", own ? own : "/usr/share/zoneinfo", zone);
    return *zone && is_letter(*zone) && !strstr(zone, "..") && access(path, R_OK) == 0;
}

static void set_zone(const char *zone)
{
    if (zone)
        (void)setenv("TZ", zone, 1); /* fails only without memory: then our own zone stays */
    else
        (void)unsetenv("TZ");
    tzset();
}

static int64_t get_local_ms(struct tm tm, const struct when *w)
{
    tm.tm_hour = w->hour;
    tm.tm_min = w->minute;
    tm.tm_sec = w->second;
    tm.tm_isdst = -1;
    return (int64_t)mktime(&tm) * 1000;
}

/* A time up to a minute ago counts as now: the text has no seconds, and must not mean tomorrow
 * because of them. */
static int64_t next_time(const struct when *w, struct tm today, int64_t now)
{
    int64_t t = get_local_ms(today, w);
    today.tm_mday += t < now - MINUTE_MS ? 1 : 0;
    return get_local_ms(today, w);
}

static int64_t find_nearest_date(const struct when *w, const struct tm *today, int64_t now)
{
    int64_t best = 0;
    for (int year = today->tm_year - 1; year <= today->tm_year + 1; year++) {
        int64_t t =
            get_local_ms((struct tm){.tm_year = year, .tm_mon = w->month, .tm_mday = w->day}, w);
        if (!best || llabs(t - now) < llabs(best - now))
            best = t;
    }
    return best;
}

/* Converts a moment in the present zone. */
static int64_t get_local_moment(const struct when *w, int64_t now)
{
    time_t seconds = (time_t)(now / 1000);
    struct tm today = {0};
    (void)localtime_r(&seconds, &today); /* cannot fail: an int can hold the present year */
    if (!w->day)
        return next_time(w, today, now);
    if (!w->year)
        return find_nearest_date(w, &today, now);
    return get_local_ms(
        (struct tm){.tm_year = w->year - 1900, .tm_mon = w->month, .tm_mday = w->day}, w);
}

static int64_t convert_moment(const struct when *w, int64_t now)
{
    const char *zone = long_zone(w->zone);
    if (w->has_offset) {
        struct tm tm = {.tm_year = w->year - 1900,
                        .tm_mon = w->month,
                        .tm_mday = w->day,
                        .tm_hour = w->hour,
                        .tm_min = w->minute - w->offset,
                        .tm_sec = w->second};
        return (int64_t)timegm(&tm) * 1000;
    }
    if (!is_known_zone(zone))
        return get_local_moment(w, now);
    autofree char *own = getenv("TZ") ? mem_str(getenv("TZ")) : NULL;
    set_zone(zone);
    int64_t t = get_local_moment(w, now);
    set_zone(own);
    return t;
}

/* Reads "(Europe/Berlin)", "UTC". */
static void read_zone(const char **s, struct when *w)
{
    static const char chars[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    const char *at = skip_blanks(*s);
    bool open = read_char(&at, '(');
    size_t n = strspn(at, chars);
    bool bare = !open && (read_word(&at, "UTC") || read_word(&at, "GMT"));
    if (bare)
        (void)snprintf(w->zone, sizeof(w->zone), "UTC");
    if (bare || !open || !n || n >= sizeof(w->zone) || at[n] != ')')
        return;
    memcpy(w->zone, at, n);
    w->zone[n] = '\0';
}

/* Reads "14:30", "9:05:30", "3pm", "3:15 PM". */
static bool read_clock(const char **s, struct when *w)
{
    const char *at = *s;
    bool minutes = false;
    if (!read_number(&at, 2, &w->hour))
        return false;
    w->minute = w->second = 0;
    if (read_char(&at, ':')) {
        if (count_digits(at) != 2 || !read_number(&at, 2, &w->minute))
            return false;
        minutes = true;
        if (*at == ':' && count_digits(at + 1) == 2) {
            at++;
            (void)read_number(&at, 2, &w->second);
        }
    }
    const char *half = skip_blanks(at);
    bool am = read_word(&half, "am"), pm = !am && read_word(&half, "pm");
    if (am || pm) {
        if (w->hour < 1 || w->hour > 12)
            return false;
        w->hour = w->hour % 12 + (pm ? 12 : 0);
        at = half;
    }
    if (w->hour > 23 || w->minute > 59 || w->second > 60 || (!minutes && !am && !pm))
        return false;
    read_zone(&at, w);
    *s = at;
    return true;
}

static bool read_month(const char **s, int *ret)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    size_t n = count_letters(*s);
    for (int i = 0; n >= 3 && i < 12; i++) {
        if (n <= strlen(names[i]) && strncasecmp(*s, names[i], n) == 0) {
            *s += n;
            *ret = i;
            return true;
        }
    }
    return false;
}

/* Reads "3", "3rd". */
static bool read_day(const char **s, int *ret)
{
    if (!read_number(s, 2, ret) || *ret < 1 || *ret > 31)
        return false;
    (void)(read_word(s, "st") || read_word(s, "nd") || read_word(s, "rd") || read_word(s, "th"));
    return true;
}

static const char *skip_comma(const char *s)
{
    s = skip_blanks(s);
    return skip_blanks(s + (*s == ','));
}

/* Reads "Nov 3, 9am", "November 3rd, 2026 at 9:41 PM", "3 Nov 2026 09:00"; midnight if there is no
 * time of day. */
static bool read_date(const char **s, struct when *w)
{
    const char *at = *s;
    if (read_month(&at, &w->month)) {
        at = skip_blanks(at + (*at == '.'));
        if (!read_day(&at, &w->day))
            return false;
    } else {
        if (!read_day(&at, &w->day))
            return false;
        at = skip_blanks(at);
        if (!read_month(&at, &w->month))
            return false;
    }
    at = skip_comma(at);
    if (count_digits(at) == 4 && read_number(&at, 4, &w->year))
        at = skip_comma(at);
    if (read_word(&at, "at"))
        at = skip_blanks(at);
    if (!read_clock(&at, w))
        w->hour = w->minute = w->second = 0;
    *s = at;
    return true;
}

/* Reads "Z", "+02:00", "-0500". */
static bool read_offset(const char **s, struct when *w)
{
    int hours = 0, minutes = 0, sign = **s == '-' ? -1 : 1;
    if (read_char(s, 'Z') || read_char(s, 'z'))
        return true;
    if (!read_char(s, '+') && !read_char(s, '-'))
        return false;
    if (count_digits(*s) == 4) {
        if (!read_number(s, 4, &minutes))
            return false;
        hours = minutes / 100;
        minutes %= 100;
    } else if (!read_number(s, 2, &hours) || (read_char(s, ':') && !read_number(s, 2, &minutes))) {
        return false;
    }
    w->offset = sign * (hours * 60 + minutes);
    return hours < 15 && minutes < 60;
}

/* Reads "2026-11-03T09:00:00Z", also with a blank in place of the T, and with or without seconds
 * and their fraction. */
static bool read_iso(const char **s, struct when *w)
{
    const char *at = *s;
    if (count_digits(at) != 4 || !read_number(&at, 4, &w->year) || !read_char(&at, '-') ||
        !read_number(&at, 2, &w->month) || !read_char(&at, '-') || !read_number(&at, 2, &w->day) ||
        w->month < 1 || w->month > 12 || w->day < 1 || w->day > 31)
        return false;
    w->month--;
    if ((!read_char(&at, 'T') && !read_char(&at, ' ')) || !read_clock(&at, w))
        return false;
    if (*at == '.' && is_digit(at[1]))
        at += 1 + count_digits(at + 1);
    w->has_offset = read_offset(&at, w);
    if (!w->has_offset)
        read_zone(&at, w);
    *s = at;
    return true;
}

/* Reads seconds or milliseconds since 1970; the number of digits decides. */
static bool read_epoch(const char **s, int64_t *ret)
{
    size_t n = count_digits(*s);
    if ((n != 10 && n != 13) || is_letter((*s)[n]))
        return false;
    *ret = strtoll(*s, NULL, 10) * (n == 10 ? 1000 : 1);
    *s += n;
    return true;
}

static int64_t read_unit(const char **s)
{
    static const struct {
        const char *words[5];
        int64_t ms;
    } units[] = {
        {{"ms", "millisecond", "milliseconds"}, 1},
        {{"s", "sec", "secs", "second", "seconds"}, 1000},
        {{"m", "min", "mins", "minute", "minutes"}, MINUTE_MS},
        {{"h", "hr", "hrs", "hour", "hours"}, 60LL * MINUTE_MS},
        {{"d", "day", "days"}, 24LL * 60 * MINUTE_MS},
        {{"w", "week", "weeks"}, 7LL * 24 * 60 * MINUTE_MS},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        for (size_t k = 0; k < 5 && units[i].words[k]; k++) {
            if (read_word(s, units[i].words[k]))
                return units[i].ms;
        }
    }
    return 0;
}

/* Reads "20", "6.5"; keeps three digits of the fraction. Nobody waits for a million of any unit. */
static bool read_amount(const char **s, int64_t *ret_thousandths)
{
    int whole;
    if (!read_number(s, 6, &whole))
        return false;
    *ret_thousandths = (int64_t)whole * 1000;
    if (**s == '.' && is_digit((*s)[1])) {
        ++*s;
        for (int scale = 100; is_digit(**s); ++*s, scale /= 10)
            *ret_thousandths += (int64_t)(**s - '0') * scale;
    }
    return true;
}

/* Reads "20s", "1m30s", "3 hours", "1 hour and 5 minutes". With `bare`, a number without a unit
 * counts as seconds. */
static bool read_duration(const char **s, bool bare, int64_t *ret_ms)
{
    const char *at = *s;
    int64_t sum = 0, thousandths, ms;
    bool some = false;
    while (read_amount(&at, &thousandths)) {
        const char *unit = skip_blanks(at);
        ms = read_unit(&unit);
        if (!ms && (some || !bare || is_part(*at) || is_letter(*unit) || *at == ':'))
            break;
        sum += ms ? thousandths * ms / 1000 : thousandths;
        *s = at = ms ? unit : at;
        some = true;
        if (!ms)
            break;
        at = skip_comma(at);
        if (read_word(&at, "and"))
            at = skip_blanks(at);
    }
    *ret_ms = sum;
    return some;
}

static bool read_moment(const char *s, int64_t now, bool bare, int64_t *ret)
{
    struct when iso = {0}, date = {0}, clock = {0};
    int64_t ms = 0;
    if (read_iso(&s, &iso))
        *ret = convert_moment(&iso, now);
    else if (read_epoch(&s, &ms))
        *ret = ms;
    else if (read_date(&s, &date))
        *ret = convert_moment(&date, now);
    else if (read_clock(&s, &clock))
        *ret = convert_moment(&clock, now);
    else if (read_duration(&s, bare, &ms))
        *ret = now + ms;
    else
        return false;
    return *ret > now - day_ms && *ret < now + 366 * day_ms;
}

static const char *skip_part(const char *s)
{
    while (is_part(*s))
        s++;
    return s;
}

/* Finds a time among the next few words. */
static bool find_moment(const char *s, int64_t now, int64_t *ret)
{
    bool after = false;
    for (int words = 0; words < WORDS_MAX; words++) {
        while (*s && !is_part(*s))
            s++;
        if (!*s)
            return false;
        if (read_moment(s, now, after, ret))
            return true;
        const char *word = s;
        after = read_word(&word, "after");
        s = is_digit(*s) ? s + strcspn(s, " \t\n")
                         : skip_part(s); /* do not start in the middle of a number */
    }
    return false;
}

/* True for a word that announces a time. "reset" also matches "resets" and "resets_at", "retry"
 * also "retrying" and "retry-after". */
static bool announces_time(const char *s)
{
    static const char *const words[] = {"reset", "again", "retry", "until", "wait"};
    if (*s == '|')
        return true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strncasecmp(s, words[i], strlen(words[i])) == 0)
            return true;
    }
    return false;
}

int64_t reset_time(const char *text, int64_t now)
{
    int64_t t = 0;
    for (const char *s = text; *s; s++) {
        bool begins = s == text || !is_part(s[-1]) || *s == '|';
        if (begins && announces_time(s) && find_moment(*s == '|' ? s + 1 : skip_part(s), now, &t))
            return t;
    }
    return 0;
}
