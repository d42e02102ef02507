/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of objects. */
#include "kube/kube_path.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 253

static void add_encoded(struct cw_str *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (isalnum(c) || strchr("-._~", c))
            cw_str_add_char(out, (char)c);
        else
            cw_str_addf(out, "%%%02X", c);
    }
}

/* Appends a slash and a name; NULL: nothing. */
static int add_name(struct cw_str *out, const char *name, struct cw_err *err)
{
    if (!name)
        return CW_OK;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strlen(name) > NAME_MAX_BYTES)
        return cw_err_set(err, CW_E_INVALID, "\"%.64s\" is no name of an object", name);
    cw_str_add_char(out, '/');
    add_encoded(out, name);
    return CW_OK;
}

int cw_kube_path(const struct cw_kube_target *target, struct cw_str *out, struct cw_err *err)
{
    bool is_core = target->kind->group[0] == '\0';
    int rc;

    cw_str_add(out, is_core ? "/api" : "/apis");
    rc = add_name(out, is_core ? NULL : target->kind->group, err);
    if (rc == CW_OK)
        rc = add_name(out, target->kind->version, err);
    if (rc == CW_OK && target->name_space) {
        cw_str_add(out, "/namespaces");
        rc = add_name(out, target->name_space, err);
    }
    if (rc == CW_OK)
        rc = add_name(out, target->kind->plural, err);
    if (rc == CW_OK)
        rc = add_name(out, target->name, err);
    if (rc == CW_OK)
        rc = add_name(out, target->subresource, err);
    return rc;
}

void cw_kube_query(struct cw_str *url, const char *key, const char *value)
{
    cw_str_addf(url, "%c%s=", strchr(cw_str_text(url), '?') ? '&' : '?', key);
    add_encoded(url, value);
}

void cw_kube_describe(const struct cw_kube_target *target, struct cw_str *out)
{
    const struct cw_kube_kind *kind = target->kind;

    cw_str_addf(out, "%s%s%s", kind->plural, kind->group[0] ? "." : "", kind->group);
    if (target->name_space || target->name)
        cw_str_addf(out, " %s%s%s", target->name_space ? target->name_space : "",
                    target->name_space ? "/" : "", target->name ? target->name : "");
    if (target->subresource)
        cw_str_addf(out, " %s", target->subresource);
}
