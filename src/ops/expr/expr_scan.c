/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/expr/expr_scan.h"

#include <ctype.h>

size_t cw_expr_number_length(const char *s)
{
    size_t n = 0;
    while (isdigit((unsigned char)s[n]))
        n++;
    if (s[n] == '.') {
        n++;
        while (isdigit((unsigned char)s[n]))
            n++;
    }
    if (s[n] == 'e' || s[n] == 'E') {
        size_t digits = n + 1 + (s[n + 1] == '+' || s[n + 1] == '-');
        if (isdigit((unsigned char)s[digits])) {
            n = digits;
            while (isdigit((unsigned char)s[n]))
                n++;
        }
    }
    return n;
}

size_t cw_expr_word_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.')
        n++;
    return n;
}
