/* SPDX-License-Identifier: Apache-2.0 */
/* Empties managedFields before a text is parsed, and finds who wrote a field. */
#include "kube/managed_fields.h"

#include <stdio.h>
#include <string.h>

#include "kube/field.h"
#include "kube/kube_time.h"

static const char member[] = "\"managedFields\":[";
#define MEMBER_N (sizeof(member) - 1)

/* Returns the end of a list that is open at `at`: behind its bracket, or `end`. */
static const char *end_of_list(const char *at, const char *end)
{
    size_t depth = 1;
    bool in_string = false;

    for (; at < end && depth > 0; at++) {
        if (in_string && *at == '\\' && at + 1 < end)
            at++;
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string && *at == '[')
            depth++;
        else if (!in_string && *at == ']')
            depth--;
    }
    return at;
}

/* Finds the next such member. Its name and what follows cannot stand within a string, whose quotes
 * have a backslash before them; so only a first quote with a backslash makes it another name. */
static const char *find(const char *at, const char *end)
{
    const char *found;

    while ((found = memmem(at, (size_t)(end - at), member, MEMBER_N))) {
        if (found[-1] != '\\') /* the text begins with a brace */
            return found;
        at = found + 1;
    }
    return NULL;
}

bool cw_kube_cut_managed_fields(const char *text, size_t n, struct cw_str *out)
{
    const char *at = text, *end = text + n;
    const char *found = n > 0 && text[0] == '{' ? find(at + 1, end) : NULL;

    if (!found)
        return false;
    for (; found; found = find(at, end)) {
        cw_str_add_bytes(out, at, (size_t)(found - at) + MEMBER_N);
        at = end_of_list(found + MEMBER_N, end);
        if (at[-1] == ']')
            cw_str_add_char(out, ']');
    }
    cw_str_add_bytes(out, at, (size_t)(end - at));
    return true;
}

/* Whether an entry of managedFields names a field: {"f:spec": {"f:replicas": {}}}. */
static bool names(const struct cw_value *entry, const char *path)
{
    const struct cw_value *at = cw_kube_field(entry, "fieldsV1");
    char name[128];

    while (at && *path) {
        size_t n = strcspn(path, ".");
        int len = snprintf(name, sizeof(name), "f:%.*s", (int)n, path);

        at = len > 0 && (size_t)len < sizeof(name) ? cw_value_get(at, name) : NULL;
        path += n + (path[n] == '.');
    }
    return at != NULL;
}

const char *cw_kube_who_wrote(const struct cw_value *object, const char *path,
                              const char **ret_subresource)
{
    size_t n;
    const struct cw_value *entries = cw_kube_list(object, "metadata.managedFields", &n);
    const struct cw_value *last = NULL;
    int64_t last_us = INT64_MIN;

    for (size_t i = 0; i < n; i++) {
        const char *time = cw_kube_text(&entries[i], "time");
        int64_t us = 0;

        if (!names(&entries[i], path) || !cw_kube_text(&entries[i], "manager"))
            continue;
        if (!time || cw_kube_time_parse(time, &us, NULL) != CW_OK)
            us = INT64_MIN;
        if (!last || us >= last_us) {
            last = &entries[i];
            last_us = us;
        }
    }
    const char *subresource = cw_kube_text(last, "subresource");
    if (ret_subresource)
        *ret_subresource = subresource ? subresource : "";
    return cw_kube_text(last, "manager");
}
