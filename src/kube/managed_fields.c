/* SPDX-License-Identifier: Apache-2.0 */
/* Finds who wrote a field. */
#include "kube/managed_fields.h"

#include <stdio.h>
#include <string.h>

#include "kube/field.h"
#include "kube/kube_time.h"

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
