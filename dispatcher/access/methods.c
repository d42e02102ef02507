/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rights. A tenant's rights are about his own jobs and caches: handlers ask sees.c. */
#include "dispatcher/access/access.h"

#include "base/str.h"

enum {
    NOBODY = 1 << CW_CALLER_NOBODY,
    TENANT = 1 << CW_CALLER_TENANT,
    WORKER = 1 << CW_CALLER_WORKER,
    OPERATOR = 1 << CW_CALLER_OPERATOR,
    JOB_WORKER = 1 << CW_CALLER_JOB_WORKER,
    ANYBODY = NOBODY | TENANT | WORKER | OPERATOR | JOB_WORKER
};

static const struct {
    const char *method;
    int kinds;
} rows[] = {
    {"/grpc.health.v1.Health/Check", ANYBODY},
    {"/grpc.health.v1.Health/Watch", ANYBODY},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", TENANT | OPERATOR},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", TENANT | OPERATOR},
    {"/cachew.v1.Fleet/Attach", WORKER | JOB_WORKER},
    {"/cachew.v1.Jobs/Attach", TENANT | OPERATOR},
    {"/cachew.v1.Admin/Info", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ListJobs", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ListWorkers", TENANT | OPERATOR},
    {"/cachew.v1.Admin/DrainWorker", OPERATOR},
    {"/cachew.v1.Admin/RemoveJob", TENANT | OPERATOR},
    {"/cachew.v1.Admin/SkipItems", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ScaleJob", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ScaleFleet", OPERATOR},
    {"/cachew.v1.Admin/GetJob", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CacheList", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CacheScan", OPERATOR},
    {"/cachew.v1.Admin/CacheEvict", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CachePin", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CacheAttach", OPERATOR},
    {"/cachew.v1.Admin/CacheDetach", OPERATOR},
    {"/cachew.v1.Admin/CacheClose", OPERATOR},
    {"/cachew.v1.Admin/CacheDescribe", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CacheNoteSource", TENANT | OPERATOR},
    {"/cachew.v1.Admin/Explain", TENANT | OPERATOR},
    {"/cachew.v1.Admin/GetMetrics", OPERATOR},
    {"/cachew.v1.Admin/ListDecisions", TENANT | OPERATOR},
    {"/cachew.v1.Admin/ListTenants", TENANT | OPERATOR},
    {"/cachew.v1.Admin/CheckPipeline", TENANT | OPERATOR},
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
