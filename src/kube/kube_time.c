/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the Gregorian calendar, without the C library's zones. */
#include "kube/kube_time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)

struct parts {
    int year, month, day, hour, minute, second;
};

/* Days from 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms"). */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, struct parts *parts)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t m = (5 * of_year + 2) / 153;

    parts->day = (int)(of_year - (153 * m + 2) / 5 + 1);
    parts->month = (int)(m < 10 ? m + 3 : m - 9);
    parts->year = (int)(year + era * 400 + (parts->month <= 2 ? 1 : 0));
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month == 2 && leap ? 29 : days[month - 1];
}

/* Reads n digits; moves on. */
static bool read_number(const char **at, int n, int *ret)
{
    *ret = 0;
    for (int i = 0; i < n; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return false;
        *ret = *ret * 10 + (**at - '0');
    }
    return true;
}

static bool read_char(const char **at, char c)
{
    return **at == c && *(*at)++;
}

static bool read_parts(const char **at, struct parts *p)
{
    return read_number(at, 4, &p->year) && read_char(at, '-') && read_number(at, 2, &p->month) &&
           read_char(at, '-') && read_number(at, 2, &p->day) && read_char(at, 'T') &&
           read_number(at, 2, &p->hour) && read_char(at, ':') && read_number(at, 2, &p->minute) &&
           read_char(at, ':') && read_number(at, 2, &p->second);
}

static bool are_parts(const struct parts *p)
{
    return p->month >= 1 && p->month <= 12 && p->day >= 1 && p->day <= days_in(p->year, p->month) &&
           p->hour <= 23 && p->minute <= 59 && p->second <= 59;
}

/* Reads ".123" if there is a point. */
static bool read_fraction(const char **at, int64_t *ret_us)
{
    int digits = 0;

    *ret_us = 0;
    if (**at != '.')
        return true;
    for ((*at)++; isdigit((unsigned char)**at) && digits < 9; (*at)++, digits++)
        *ret_us = digits < 6 ? *ret_us * 10 + (**at - '0') : *ret_us;
    for (int i = digits; i < 6; i++)
        *ret_us *= 10;
    return digits > 0;
}

/* Reads "Z" or "+01:00". */
static bool read_offset(const char **at, int64_t *ret_us)
{
    int hour = 0, minute = 0;
    int64_t sign = **at == '-' ? -1 : 1;

    *ret_us = 0;
    if (read_char(at, 'Z'))
        return true;
    if (!read_char(at, '-') && !read_char(at, '+'))
        return false;
    bool good = read_number(at, 2, &hour) && read_char(at, ':') && read_number(at, 2, &minute);
    *ret_us = sign * (hour * 60 + minute) * 60 * SECOND;
    return good && hour <= 23 && minute <= 59;
}

int cw_kube_time_parse(const char *text, int64_t *ret_us, struct cw_err *err)
{
    struct parts p = {0};
    const char *at = text;
    int64_t fraction = 0, offset = 0;

    if (!read_parts(&at, &p) || !are_parts(&p) || !read_fraction(&at, &fraction) ||
        !read_offset(&at, &offset) || *at != '\0')
        return cw_err_set(err, CW_E_INVALID,
                          "\"%.64s\" is no time of RFC 3339, like 2026-01-31T23:59:59Z", text);
    *ret_us = days_of(p.year, p.month, p.day) * DAY +
              ((int64_t)p.hour * 3600 + p.minute * 60 + p.second) * SECOND + fraction - offset;
    return CW_OK;
}

/* Returns the time within the years that can be printed, as parts and the fraction. */
static int split(int64_t us, struct parts *p)
{
    int64_t first = days_of(0, 1, 1) * DAY, last = days_of(10000, 1, 1) * DAY - 1;
    int64_t t = CW_MIN(CW_MAX(us, first), last);
    int64_t days = (t >= 0 ? t : t - (DAY - 1)) / DAY;
    int64_t rest = t - days * DAY;

    date_of(days, p);
    p->hour = (int)(rest / (3600 * SECOND));
    p->minute = (int)(rest / (60 * SECOND) % 60);
    p->second = (int)(rest / SECOND % 60);
    return (int)(rest % SECOND);
}

void cw_kube_time_print_us(int64_t us, char ret_text[CW_KUBE_TIME_BYTES])
{
    struct parts p;
    int fraction = split(us, &p);

    snprintf(ret_text, CW_KUBE_TIME_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%06uZ",
             (unsigned)p.year % 10000, (unsigned)p.month % 100, (unsigned)p.day % 100,
             (unsigned)p.hour % 100, (unsigned)p.minute % 100, (unsigned)p.second % 100,
             (unsigned)fraction % 1000000);
}

void cw_kube_time_print_s(int64_t us, char ret_text[CW_KUBE_TIME_BYTES])
{
    struct parts p;

    split(us, &p);
    snprintf(ret_text, CW_KUBE_TIME_BYTES, "%04u-%02u-%02uT%02u:%02u:%02uZ",
             (unsigned)p.year % 10000, (unsigned)p.month % 100, (unsigned)p.day % 100,
             (unsigned)p.hour % 100, (unsigned)p.minute % 100, (unsigned)p.second % 100);
}
