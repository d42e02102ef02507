/* SPDX-License-Identifier: Apache-2.0 */
/* Whose jobs and caches a caller sees: those of the tenant that its token or certificate
 * names, or all. */
#include "dispatcher/access/access.h"

#include <string.h>

#include "base/str.h"

const char *cw_access_tenant_of(const struct cw_caller *caller)
{
    bool restricted = caller && caller->kind != CW_CALLER_OPERATOR;
    return restricted ? caller->name : NULL;
}

bool cw_access_sees_tenant(const struct cw_caller *caller, const char *tenant)
{
    const char *own = cw_access_tenant_of(caller);
    return !own || cw_str_eq(own, tenant[0] != '\0' ? tenant : "default");
}

bool cw_access_sees_job(const struct cw_caller *caller, const struct cw_job *job)
{
    return cw_access_sees_tenant(caller, job->tenant->name);
}

int cw_access_check_fetch(const struct cw_caller *caller, const char *tenant, struct cw_err *err)
{
    const char *of_job = tenant[0] != '\0' ? tenant : "default";
    if (!caller || caller->certificate_tenant[0] == '\0' ||
        cw_str_eq(caller->certificate_tenant, of_job))
        return 0;
    return cw_err_set(
        err, CW_E_DENIED,
        "workers would refuse this client: the certificate that was shown besides the "
        "token is that of tenant \"%s\", the job is of \"%s\"",
        caller->certificate_tenant, of_job);
}

const char *cw_access_job_of(const struct cw_caller *caller)
{
    return caller && caller->kind == CW_CALLER_JOB_WORKER ? caller->job_id : NULL;
}

const char *cw_access_shown(const struct cw_caller *caller)
{
    return caller && caller->kind == CW_CALLER_CLIENT && !caller->by_account ? "certificate"
                                                                             : "token";
}
