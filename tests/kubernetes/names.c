/* SPDX-License-Identifier: Apache-2.0 */
/* Names, times and ids of the fake API server. */
#include "kubernetes/fk_int.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "base/rng.h"

int64_t fk_wall_ms(const struct fk_server *server)
{
    return server->options.wall_ms + server->jumped_ms + server->now_ms;
}

void fk_time_text(const struct fk_server *server, int64_t after_ms, char ret[32])
{
    time_t seconds = (time_t)((fk_wall_ms(server) + after_ms) / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(ret, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

int64_t fk_time_parse(const char *text)
{
    struct tm tm = {0};
    return text && strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) ? (int64_t)timegm(&tm) * 1000 : -1;
}

uint64_t fk_draw(struct fk_server *server, uint64_t n)
{
    struct cw_rng rng;
    cw_rng_init(&rng, server->options.seed, 1, 0, 0, server->draws++);
    return cw_rng_below(&rng, 0, n);
}

void fk_uid(struct fk_server *server, char ret[40])
{
    struct cw_rng rng;
    cw_rng_init(&rng, server->options.seed, 2, 0, 0, server->uids++);
    uint64_t a = cw_rng_u64(&rng, 0), b = cw_rng_u64(&rng, 1);
    snprintf(ret, 40, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffffU, (unsigned)a & 0xfffU,
             ((unsigned)(b >> 48) & 0x3fffU) | 0x8000U,
             (unsigned long long)(b & 0xffffffffffffULL));
}

void fk_suffix(struct fk_server *server, char *text, size_t n)
{
    static const char LETTERS[] = "bcdfghjklmnpqrstvwxz2456789";
    for (size_t i = 0; i < n; i++)
        text[i] = LETTERS[fk_draw(server, sizeof(LETTERS) - 1)];
    text[n] = '\0';
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

char *fk_decoded(const char *text, size_t n)
{
    struct cw_str str = {0};
    for (size_t i = 0; i < n; i++) {
        bool is_coded = text[i] == '%' && i + 2 < n + 0 && isxdigit((unsigned char)text[i + 1]) &&
                        isxdigit((unsigned char)text[i + 2]);
        if (is_coded) {
            cw_str_add_char(&str, (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
            i += 2;
        } else {
            cw_str_add_char(&str, text[i] == '+' ? ' ' : text[i]);
        }
    }
    return cw_str_take(&str);
}
