/* SPDX-License-Identifier: Apache-2.0 */
/* The autocache policy `force`: the node that the user names is cached, whatever it costs. */
#include "base/mem.h"
#include "policies/policy.h"

static int check(const char *argument, struct cw_err *err)
{
    if (!argument || argument[0] == '\0')
        return cw_err_set(
            err, CW_E_INVALID,
            "the autocache policy \"force\" needs the name of a node or of a mark: force:NODE");
    return 0;
}

static int unknown(const struct cw_autocache_snapshot *snapshot, const char *name,
                   struct cw_err *err)
{
    const char **names = CW_NEW_ARRAY(const char *, snapshot->n + 1);
    for (size_t i = 0; i < snapshot->n; i++)
        names[i] = snapshot->nodes[i].name;
    const char *near = cw_str_nearest(name, names);
    cw_mem_free(names);
    if (near)
        return cw_err_set(err, CW_E_INVALID,
                          "autocache force:%s: the pipeline has no such node: did you mean \"%s\"?",
                          name, near);
    return cw_err_set(err, CW_E_INVALID, "autocache force:%s: the pipeline has no such node", name);
}

static size_t find(const struct cw_autocache_snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->n; i++) {
        if (cw_str_eq(snapshot->nodes[i].name, name))
            return i;
    }
    for (size_t i = 0; i < snapshot->n; i++) {
        if (cw_str_eq(snapshot->nodes[i].mark, name))
            return i;
    }
    return CW_POLICY_NONE;
}

static int decide(const struct cw_autocache_snapshot *snapshot, const char *argument,
                  struct cw_policy_decision *ret_decision, struct cw_err *err)
{
    int rc = check(argument, err);
    if (rc < 0)
        return rc;
    size_t i = find(snapshot, argument);
    if (i == CW_POLICY_NONE)
        return unknown(snapshot, argument, err);
    if (snapshot->nodes[i].why_not)
        return cw_err_set(err, CW_E_INVALID, "autocache force:%s: node \"%s\" cannot be cached: %s",
                          argument, snapshot->nodes[i].name, snapshot->nodes[i].why_not);
    *ret_decision = (struct cw_policy_decision){.decided = true, .node = i};
    cw_str_addf(&ret_decision->reason, "\"%s\" is cached because force:%s asks for it.",
                snapshot->nodes[i].name, argument);
    return 0;
}

const struct cw_autocache_policy cw_policy_autocache_force = {"force", "the named node is cached",
                                                              check, decide};
