/* SPDX-License-Identifier: Apache-2.0 */
/* Writes profiles to files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/tool/profile_run.h"
#include "client/tool/tool.h"
#include "conf/value_yaml.h"

static bool is_json(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;

    return dot && strcmp(dot, ".json") == 0;
}

static int write_file(const char *path, const struct cw_str *text)
{
    FILE *file = fopen(path, "we");
    bool wrong = !file || fwrite(cw_str_text(text), 1, text->len, file) != text->len;

    if (file)
        wrong = fclose(file) != 0 || wrong;
    return wrong ? tool_fail("%s: %s", path, strerror(errno)) : TOOL_OK;
}

int tool_profile_write(const struct cw_cost_profile *profile, const char *path)
{
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};

    cw_cost_profile_print(profile, &value);
    if (is_json(path)) {
        cw_value_print(&value, &text);
        cw_str_add_char(&text, '\n');
    } else {
        cw_value_print_yaml(&value, &text);
    }
    cw_value_fini(&value);
    if (path)
        return write_file(path, &text);
    fputs(cw_str_text(&text), stdout);
    return tool_flush_output();
}
