/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/ini.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define SPACES " \t\r"

/* Part of a line. */
struct part {
    const char *p;
    size_t n;
};

static struct part trim(struct part part)
{
    while (part.n > 0 && strchr(SPACES, part.p[0])) {
        part.p++;
        part.n--;
    }
    while (part.n > 0 && strchr(SPACES, part.p[part.n - 1]))
        part.n--;
    return part;
}

static bool is_text(struct part part, const char *text)
{
    return part.n == strlen(text) && memcmp(part.p, text, part.n) == 0;
}

/* Whether a line "[ name ]" has that name; spaces inside count as one. */
static bool is_section(struct part line, const char *section)
{
    const char *end = memchr(line.p, ']', line.n);
    if (!end)
        return false;
    struct part name = trim((struct part){line.p + 1, (size_t)(end - line.p) - 1});
    size_t i = 0;
    for (size_t k = 0; k < name.n; k++) {
        bool is_space = strchr(SPACES, name.p[k]) != NULL;
        if (is_space && k > 0 && strchr(SPACES, name.p[k - 1]))
            continue;
        if (section[i] != (is_space ? ' ' : name.p[k]))
            return false;
        i++;
    }
    return section[i] == '\0';
}

char *cw_ini_get(const char *text, const char *section, const char *below, const char *key)
{
    bool in_section = false, is_below = false;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        struct part all = trim((struct part){line, n});
        bool is_indented = n > 0 && strchr(SPACES, line[0]) != NULL;
        line += n + (line[n] == '\n');
        if (all.n == 0 || all.p[0] == '#' || all.p[0] == ';')
            continue;
        if (all.p[0] == '[' && !is_indented) {
            in_section = is_section(all, section);
            is_below = false;
            continue;
        }
        const char *equals = memchr(all.p, '=', all.n);
        if (!in_section || !equals)
            continue;
        struct part name = trim((struct part){all.p, (size_t)(equals - all.p)});
        struct part value = trim((struct part){equals + 1, (size_t)(all.p + all.n - equals) - 1});
        if (!is_indented)
            is_below = below && is_text(name, below) && value.n == 0;
        if (is_text(name, key) && value.n > 0 && (below ? is_below && is_indented : !is_indented))
            return cw_mem_strndup(value.p, value.n);
    }
    return NULL;
}
