/* SPDX-License-Identifier: Apache-2.0 */
/* Makes operators of definitions, and writes definitions down in pipelines. */
#include "ops/foreign.h"

#include <string.h>

#include "base/mem.h"
#include "ops/foreign_table.h"
#include "ops/op_util.h"

/* ---- adding ---- */

/* Equal definitions have equal texts. To compare the values would take long for hostile ones.
 * n: the length of the list */
static struct cw_foreign *find_exact(const struct cw_foreign_new *how, const char *text, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        struct cw_foreign *it = cw_foreign_at(k);
        bool serves = it->impl || !how->impl;
        if (serves && it->announced >= how->announced && strcmp(it->text, text) == 0)
            return it;
    }
    return NULL;
}

static int make(const struct cw_foreign_new *how, const char *text, size_t n,
                struct cw_foreign **ret_foreign, struct cw_err *err)
{
    /* what anybody sends cannot fill the list */
    const size_t room =
        how->announced == CW_FOREIGN_ANNOUNCED ? CW_FOREIGN_MAX : CW_FOREIGN_MAX / 2;
    if (n >= room)
        return cw_err_set(
            err, CW_E_LIMIT,
            "more than %d operators of plugins are known; a restart forgets those that "
            "nobody has any more",
            (int)room);
    int rc = cw_foreign_table(how, text, n, ret_foreign, err);
    if (rc < 0)
        return rc;
    if (how->impl)
        how->complete(*ret_foreign);
    else
        cw_foreign_stub(*ret_foreign);
    return 0;
}

int cw_foreign_add(const struct cw_foreign_new *how, const struct cw_foreign **ret_foreign,
                   struct cw_err *err)
{
    struct cw_foreign *made = NULL;
    CW_STR_AUTO text = {0};
    cw_value_print(how->definition, &text);
    if (text.len > CW_FOREIGN_DEFINITION_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "the definition of an operator of a plugin is too long");
    const size_t n = cw_foreign_begin();
    const struct cw_foreign *foreign = find_exact(how, cw_str_text(&text), n);
    int rc = foreign ? 0 : make(how, cw_str_text(&text), n, &made, err);
    cw_foreign_end(rc == 0 ? made : NULL);
    if (rc == 0)
        *ret_foreign = foreign ? foreign : made;
    return rc;
}

/* ---- nodes of pipelines ---- */

void cw_foreign_settle(const struct cw_foreign *foreign, const struct cw_spec *out,
                       struct cw_value *options)
{
    if (options->type != CW_VALUE_OBJECT)
        cw_value_set_object(options);
    struct cw_value *plugin = cw_value_member(options, "plugin");
    cw_value_fini(plugin);
    *plugin = (struct cw_value){0};
    cw_value_copy(plugin, &foreign->definition);
    struct cw_value *gives = cw_value_member(options, "gives");
    cw_value_fini(gives);
    *gives = (struct cw_value){0};
    cw_op_spec_to_list(out, gives);
}

const char *cw_foreign_wanted(const struct cw_value *options, const char **ret_library)
{
    const struct cw_value *plugin = cw_value_get(options, "plugin");
    const struct cw_value *hash =
        plugin && plugin->type == CW_VALUE_OBJECT ? cw_value_get(plugin, "hash") : NULL;
    const struct cw_value *library = hash ? cw_value_get(plugin, "library") : NULL;
    *ret_library = library && library->type == CW_VALUE_STR ? library->s : "?";
    return hash && hash->type == CW_VALUE_STR ? hash->s : NULL;
}
