/* SPDX-License-Identifier: Apache-2.0 */
/* Specs as the trainer sees them, and that of a job. */
#include <string.h>
#include "base/mem.h"
#include "client/model/public.h"
#include "client/model/client_job.h"

size_t cachew_spec_fields(const struct cachew_spec *spec)
{
    return spec ? spec->of.n : 0;
}

int cachew_spec_field(const struct cachew_spec *spec, size_t i, struct cachew_field *ret_field)
{
    size_t size = ret_field->struct_size;
    if (size < sizeof(size_t) || size > 64 * sizeof(struct cachew_field))
        return CACHEW_E_INVALID;
    struct cachew_field field = {.struct_size = size};
    bool found = i < cachew_spec_fields(spec);
    if (found) {
        const struct cw_field *from = &spec->of.fields[i];
        field.name = from->name;
        field.dtype = (enum cachew_dtype)from->dtype;
        field.rank = from->rank;
        memcpy(field.dims, from->dims, (size_t)from->rank * sizeof(field.dims[0]));
    }
    memcpy(ret_field, &field, CW_MIN(size, sizeof(field)));
    return found ? 0 : CACHEW_E_NOT_FOUND;
}

void cachew_spec_free(struct cachew_spec *spec)
{
    if (spec)
        cw_spec_fini(&spec->of);
    cw_mem_free(spec);
}

const struct cachew_spec *cachew_job_spec(const struct cachew_job *job)
{
    return cw_client_job_check(job, NULL) == 0 ? &job->spec : NULL;
}
