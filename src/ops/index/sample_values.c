/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/sample_values.h"

#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "ops/kernels/num.h"

/* Returns the field of one value that an option names; NULL: err says why there is none. */
static const struct cw_field *find(const struct cw_spec *spec, const char *option, const char *name,
                                   struct cw_err *err)
{
    const int i = cw_spec_find(spec, name);
    const struct cw_field *field = i < 0 ? NULL : &spec->fields[i];
    if (!field)
        (void)cw_err_set(err, CW_E_INVALID, "option %s: there is no field \"%s\"", option, name);
    else if (field->rank > 0)
        (void)cw_err_set(err, CW_E_INVALID, "option %s: field \"%s\" has dimensions", option, name);
    return field && field->rank == 0 ? field : NULL;
}

int cw_sample_check_weight(const struct cw_spec *spec, const char *name, struct cw_err *err)
{
    const struct cw_field *field = find(spec, "weight_field", name, err);
    if (!field)
        return CW_E_INVALID;
    if (field->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "option weight_field: field \"%s\" is no number",
                          name);
    return 0;
}

static bool is_label(enum cw_dtype dtype)
{
    return dtype != CW_DTYPE_F16 && dtype != CW_DTYPE_BF16 && dtype != CW_DTYPE_F32 &&
           dtype != CW_DTYPE_F64;
}

int cw_sample_check_label(const struct cw_spec *spec, const char *name, struct cw_err *err)
{
    const struct cw_field *field = find(spec, "balance", name, err);
    if (!field)
        return CW_E_INVALID;
    if (!is_label(field->dtype))
        return cw_err_set(err, CW_E_INVALID,
                          "option balance: field \"%s\" is no label: a whole number or a string",
                          name);
    return 0;
}

static int begin(const struct cw_fates *fates, struct cw_f64_list *list, struct cw_err *err)
{
    if (fates->n > (uint64_t)CW_WEIGHTS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%llu elements are too many to draw by weights",
                          (unsigned long long)fates->n);
    list->n = (size_t)fates->n;
    list->v = cw_mem_try((list->n + 1) * sizeof(*list->v));
    return list->v ? 0 : cw_err_set(err, CW_E_NOMEM, "no memory for %zu weights", list->n);
}

static int finish(struct cw_f64_list *list, const char *what, struct cw_weights *ret_weights,
                  struct cw_err *err)
{
    int rc = cw_weights_from_list(list, what, ret_weights, err);
    cw_mem_free(list->v);
    return rc;
}

int cw_sample_by_weight(const struct cw_fates *fates, enum cw_dtype dtype,
                        struct cw_weights *ret_weights, struct cw_err *err)
{
    struct cw_f64_list list = {0};
    int rc = begin(fates, &list, err);
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        list.v[i] = cw_fates_has(fates->kept, i) ? cw_num_get_f64(dtype, &fates->values[i], 0) : 0;
    return rc < 0 ? rc : finish(&list, "option weight_field", ret_weights, err);
}

/* How often each label comes, as a map of numbers. */
static void count_labels(const struct cw_fates *fates, struct cw_map *counts)
{
    for (size_t i = 0; i < fates->n; i++)
        if (cw_fates_has(fates->kept, i)) {
            const uintptr_t before = (uintptr_t)cw_map_get(counts, fates->values[i]);
            cw_map_set(counts, fates->values[i], (void *)(before + 1));
        }
}

int cw_sample_by_label(const struct cw_fates *fates, struct cw_weights *ret_weights,
                       struct cw_err *err)
{
    struct cw_f64_list list = {0};
    struct cw_map counts = {0};
    int rc = begin(fates, &list, err);
    if (rc < 0)
        return rc;
    count_labels(fates, &counts);
    for (size_t i = 0; i < list.n; i++)
        list.v[i] = cw_fates_has(fates->kept, i)
                        ? 1 / (double)(uintptr_t)cw_map_get(&counts, fates->values[i])
                        : 0;
    cw_map_fini(&counts);
    return finish(&list, "option balance", ret_weights, err);
}
