/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rights. A tenant's rights are about his own jobs and caches: handlers ask sees.c. What
 * changes things in Admin is for operators, and for tenants that show a token; CacheNoteSource only notes
 * what a job of the caller has done, in a cache of its tenant. */
#include "dispatcher/access/access.h"

#include "base/str.h"

enum {
    NOBODY = 1 << CW_CALLER_NOBODY,
    TENANT = 1 << CW_CALLER_TENANT,
    WORKER = 1 << CW_CALLER_WORKER,
    OPERATOR = 1 << CW_CALLER_OPERATOR,
    JOB_WORKER = 1 << CW_CALLER_JOB_WORKER,
    CLIENT = 1 << CW_CALLER_CLIENT,
    ANYBODY = NOBODY | TENANT | WORKER | OPERATOR | JOB_WORKER | CLIENT,
    READERS = TENANT | OPERATOR | CLIENT
};

static const struct {
    const char *method;
    int kinds;
} rows[] = {
    {"/grpc.health.v1.Health/Check", ANYBODY},
    {"/grpc.health.v1.Health/Watch", ANYBODY},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", READERS},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", READERS},
    {"/cachew.v1.Fleet/Attach", WORKER | JOB_WORKER},
    {"/cachew.v1.Jobs/Attach", READERS},
    {"/cachew.v1.Admin/Info", READERS},
    {"/cachew.v1.Admin/ListJobs", READERS},
    {"/cachew.v1.Admin/ListWorkers", READERS},
    {"/cachew.v1.Admin/DrainWorker", OPERATOR},
    {"/cachew.v1.Admin/RemoveJob", TENANT | OPERATOR},
    {"/cachew.v1.Admin/SkipItems", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ScaleJob", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ReplanJob", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ScaleFleet", OPERATOR},
    {"/cachew.v1.Admin/GetJob", READERS},
    {"/cachew.v1.Admin/CacheList", READERS},
    {"/cachew.v1.Admin/CacheScan", OPERATOR},
    {"/cachew.v1.Admin/CacheEvict", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CachePin", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CacheAttach", OPERATOR},
    {"/cachew.v1.Admin/CacheDetach", OPERATOR},
    {"/cachew.v1.Admin/CacheClose", OPERATOR},
    {"/cachew.v1.Admin/CacheDescribe", READERS},
    {"/cachew.v1.Admin/CacheNoteSource", READERS},
    {"/cachew.v1.Admin/Explain", READERS},
    {"/cachew.v1.Admin/GetMetrics", OPERATOR},
    {"/cachew.v1.Admin/ListDecisions", READERS},
    {"/cachew.v1.Admin/ListTenants", READERS},
    {"/cachew.v1.Admin/CheckPipeline", READERS},
    {"/cachew.v1.Admin/ShowElements", READERS},
    {"/cachew.v1.Admin/Backup", OPERATOR},
    /* Workers serve this one, against the secret of the job; no dispatcher does. */
    {"/cachew.v1.Data/Fetch", 0},
};

bool cw_access_allows(enum cw_caller_kind kind, const char *method)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        if (cw_str_eq(rows[i].method, method))
            return (rows[i].kinds & (1 << kind)) != 0;
    return false;
}

const char *cw_access_method(size_t i)
{
    return i < CW_ARRAY_LEN(rows) ? rows[i].method : NULL;
}
