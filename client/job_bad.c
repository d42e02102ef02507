/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_job_bad: the bad elements that were left out of what was given out last. */
#include <string.h>
#include "client/model/client_job.h"
#include "client/model/public.h"

static struct cachew_bad_element describe(const struct cw_job_bad *bad, size_t i)
{
    const struct cw_bad_element *from = cw_bad_list_at(bad->list, i);
    return (struct cachew_bad_element){.epoch = bad->epoch,
                                       .batch = bad->number,
                                       .elements = from->elements,
                                       .position = from->position,
                                       .file = from->file,
                                       .record = from->record,
                                       .source = from->source,
                                       .node = from->node,
                                       .op = from->op,
                                       .reason = from->reason};
}

/* Returns an element that stands for those that are not described: there are too many, or the
 * worker is of an older version. */
static struct cachew_bad_element rest_of(const struct cw_job_bad *bad)
{
    uint64_t described = 0;
    for (size_t i = 0; i < cw_bad_list_n(bad->list); i++)
        described += cw_bad_list_at(bad->list, i)->elements;
    return (struct cachew_bad_element){.epoch = bad->epoch,
                                       .batch = bad->number,
                                       .elements = bad->n > described ? bad->n - described : 0,
                                       .position = -1,
                                       .file = "",
                                       .record = -1,
                                       .source = "",
                                       .node = "",
                                       .op = "",
                                       .reason = "not described"};
}

int cachew_job_bad(const struct cachew_job *job, size_t i, struct cachew_bad_element *ret_element)
{
    if (!ret_element || cw_client_job_check(job, NULL) != 0)
        return CACHEW_E_STATE;
    size_t size = ret_element->struct_size, n = cw_bad_list_n(job->last_bad.list);
    if (size < sizeof(size_t) || size > 64 * sizeof(struct cachew_bad_element))
        return CACHEW_E_INVALID;
    struct cachew_bad_element element =
        i < n ? describe(&job->last_bad, i) : rest_of(&job->last_bad);
    bool found = i < n || (i == n && element.elements > 0);
    if (!found)
        element = (struct cachew_bad_element){.position = -1, .record = -1};
    element.struct_size = size;
    memcpy(ret_element, &element, CW_MIN(size, sizeof(element)));
    return found ? 0 : CACHEW_E_NOT_FOUND;
}
