/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of an API server as CacheBackends, jobs and pods, annotations as specs, and places of stores:
 * whatever they are, they are read, decided about and printed. */
#include <string.h>

#include "base/mem.h"
#include "controller/job_specs.h"
#include "controller/status_patch.h"
#include "controller/store_allow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void decide(struct cw_cachebackend *b)
{
    const struct cachew_engine_answer place = {.url = "dir:/r/n/b-u"};
    struct cw_sight sight = {.now_ms = 1795700000000,
                             .b = b,
                             .engine = &cw_engine_localfs,
                             .engine_why = "",
                             .place_answer = &place,
                             .dispatcher_known = true,
                             .dispatcher_why = "",
                             .map = CW_MAP_RIGHT};
    struct cw_decision decision;
    CW_STR_AUTO patch = {0};
    cw_decide(&sight, &decision);
    (void)cw_status_patch(&sight, &decision, &patch);
}

static void read_object(const struct cw_value *object)
{
    struct cw_cachebackend *b = cw_cachebackend_read(object);
    struct cw_job_facts *job = cw_job_facts_read(&cw_job_kinds[0], object);
    struct cw_pod_facts *pod = cw_pod_facts_read(object);
    CW_STR_AUTO body = {0};
    if (b)
        decide(b);
    if (job) {
        cw_job_name_spec(job);
        (void)cw_job_spec_print(job, &body, NULL);
    }
    cw_cachebackend_unref(b);
    cw_job_facts_free(job);
    cw_pod_facts_free(pod);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    cw_autofree char *text = cw_mem_strndup((const char *)data, n);
    const char *const prefixes[] = {"gluster://g1,g2:1/v/p", text};
    struct cw_value value = {0};
    int64_t ms = 0;
    if (cw_duration_parse(text, &ms, NULL) == 0)
        CW_ASSERT(ms >= 0);
    /* What is no prefix that an operator could have given allows nothing that leaves it. */
    if (cw_store_is_allowed(text, prefixes, 1))
        CW_ASSERT(!memmem(text, strcspn(text, "?"), "/../", 4) && /* not in its options */
                  strncmp(text, "gluster://", 10) == 0);
    (void)cw_store_allow_check(text, NULL);
    if (cw_value_parse(text, strlen(text), "fuzz", &value, NULL) != 0)
        return 0;
    read_object(&value);
    cw_value_fini(&value);
    return 0;
}
