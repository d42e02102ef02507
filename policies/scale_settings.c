/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_settings.h"

#include <stdlib.h>
#include <string.h>

static int refuse(const char *policy, const char *word, size_t length,
                  const struct cw_scale_setting *settings, size_t n, bool quirks,
                  struct cw_err *err)
{
    CW_STR_AUTO keys = {0};
    for (size_t i = 0; i < n; i++)
        cw_str_addf(&keys, "%s%s=%g..%g", i > 0 ? ", " : "", settings[i].key, settings[i].least,
                    settings[i].most);
    if (quirks)
        cw_str_add(&keys, ", quirks=published or corrected");
    return cw_err_set(err, CW_E_INVALID, "\"%s:%.*s\" is not known; there are: %s", policy,
                      (int)length, word, cw_str_text(&keys));
}

static bool is_word(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

static bool set_quirks(const char *word, size_t length, struct cw_scale_options *options)
{
    options->published_quirks = is_word(word, length, "quirks=published");
    return options->published_quirks || is_word(word, length, "quirks=corrected");
}

static bool set_number(const char *word, size_t length, const struct cw_scale_setting *settings,
                       size_t n, struct cw_scale_options *options)
{
    const char *equals = memchr(word, '=', length);
    for (size_t i = 0; equals && i < n; i++) {
        if (!is_word(word, (size_t)(equals - word), settings[i].key))
            continue;
        char *end;
        double value = strtod(equals + 1, &end);
        if (end == equals + 1 || end != word + length || !(value >= settings[i].least) ||
            !(value <= settings[i].most))
            return false;
        *(double *)(void *)((char *)options + settings[i].offset) = value;
        return true;
    }
    return false;
}

int cw_scale_settings(const char *policy, const char *argument,
                      const struct cw_scale_setting *settings, size_t n, bool quirks,
                      struct cw_scale_options *options, struct cw_err *err)
{
    for (const char *word = argument; word && *word;) {
        size_t length = strcspn(word, ",");
        bool known = quirks && strncmp(word, "quirks=", strlen("quirks=")) == 0
                         ? set_quirks(word, length, options)
                         : set_number(word, length, settings, n, options);
        if (!known)
            return refuse(policy, word, length, settings, n, quirks, err);
        word += length + (word[length] == ',');
    }
    return 0;
}
