/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/tls_options.h"

#include <stdlib.h>
#include <string.h>

static void find(const char **file, const char *variable)
{
    if (!*file)
        *file = getenv(variable);
    if (*file && **file == '\0')
        *file = NULL;
}

static int check_rules(const struct cw_tls_options *options, struct cw_err *err)
{
    struct cw_role_rules rules = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < options->roles.n; i++)
        rc = cw_role_rules_add(&rules, options->roles.v[i], err);
    cw_role_rules_fini(&rules);
    return rc == 0 ? 0 : cw_err_wrap(err, "--tls-role");
}

int cw_tls_options_read(struct cw_tls_options *options, struct cw_err *err)
{
    const char *roles = options->roles.n == 0 ? getenv("CACHEW_TLS_ROLE") : NULL;
    find(&options->cert, "CACHEW_TLS_CERT");
    find(&options->key, "CACHEW_TLS_KEY");
    find(&options->ca, "CACHEW_TLS_CA");
    if (roles)
        options->roles.v[options->roles.n++] = roles;
    bool any = options->cert || options->key || options->ca;
    if (any && !(options->cert && options->key && options->ca))
        return cw_err_set(
            err, CW_E_INVALID,
            "TLS needs three files, and %s is missing (--tls-cert, --tls-key, --tls-ca, "
            "or CACHEW_TLS_CERT, CACHEW_TLS_KEY, CACHEW_TLS_CA)",
            !options->cert  ? "--tls-cert"
            : !options->key ? "--tls-key"
                            : "--tls-ca");
    return check_rules(options, err);
}

bool cw_tls_options_are_set(const struct cw_tls_options *options)
{
    return options->cert != NULL;
}

void cw_tls_options_rules(const struct cw_tls_options *options, struct cw_role_rules *rules)
{
    for (size_t i = 0; i < options->roles.n; i++)
        (void)cw_role_rules_add(rules, options->roles.v[i], NULL);
}
