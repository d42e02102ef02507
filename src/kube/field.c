/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of an object by a path. */
#include "kube/field.h"

#include <string.h>

static const struct cw_value *member(const struct cw_value *object, const char *name, size_t n)
{
    for (size_t i = 0; object->type == CW_VALUE_OBJECT && i < object->n; i++)
        if (strncmp(object->keys[i], name, n) == 0 && object->keys[i][n] == '\0')
            return &object->items[i];
    return NULL;
}

const struct cw_value *cw_kube_field(const struct cw_value *object, const char *path)
{
    while (object && *path) {
        size_t n = strcspn(path, ".");

        object = member(object, path, n);
        path += n + (path[n] == '.');
    }
    return object;
}

const char *cw_kube_text(const struct cw_value *object, const char *path)
{
    const struct cw_value *value = cw_kube_field(object, path);

    return value && value->type == CW_VALUE_STR ? value->s : NULL;
}

bool cw_kube_i64(const struct cw_value *object, const char *path, int64_t *ret)
{
    const struct cw_value *value = cw_kube_field(object, path);

    if (!value || value->type != CW_VALUE_I64)
        return false;
    *ret = value->i;
    return true;
}

const struct cw_value *cw_kube_list(const struct cw_value *object, const char *path, size_t *ret_n)
{
    const struct cw_value *value = cw_kube_field(object, path);
    bool is_list = value && value->type == CW_VALUE_LIST;

    *ret_n = is_list ? value->n : 0;
    return is_list ? value->items : NULL;
}
