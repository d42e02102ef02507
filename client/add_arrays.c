/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of arrays that a program has in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/arrays/array_file.h"
#include "client/pipeline.h"

int cachew_array_write(const struct cachew_tensor *array, const char *directory,
                       const char **ret_op, char **ret_pattern, struct cachew_error *error)
{
    struct cw_array_file file;
    struct cw_err err = {0};
    if (!array || !ret_op || !ret_pattern)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_array_write: array, ret_op and ret_pattern must not be NULL");
    if (cw_array_write(array, directory, &file, &err) < 0)
        return cw_public_fail(error, &err);
    *ret_op = file.op;
    *ret_pattern = strdup(file.pattern); /* which free() takes */
    cw_mem_free(file.pattern);
    return *ret_pattern ? 0 : cw_public_set(error, CW_E_NOMEM, "cachew_array_write: no memory");
}

/* Each array is a node of its own, whose name is the caller's. */
static int add_array(struct cachew_builder *builder, const struct cachew_tensor *array,
                     const char *directory, char **ret_name, struct cw_err *err)
{
    struct cw_array_file file;
    int rc = cw_array_write(array, directory, &file, err);
    if (rc < 0)
        return rc;
    *ret_name = cw_mem_printf("%s:%zu", array->name, cw_builder_nodes(builder));
    cachew_add(builder, file.op);
    cachew_set_name(builder, *ret_name);
    cachew_set_str(builder, "pattern", file.pattern);
    if (strcmp(file.op, "npy") == 0)
        cachew_set_str(builder, "field", array->name);
    cw_mem_free(file.pattern);
    return 0;
}

static int check_rows(const struct cachew_tensor *arrays, size_t n, struct cw_err *err)
{
    if (n == 0 || !arrays)
        return cw_err_set(err, CW_E_INVALID, "cachew_add_arrays: there is no array");
    for (size_t i = 1; i < n; i++)
        if (arrays[i].rank > 0 && arrays[0].rank > 0 && arrays[i].dims[0] != arrays[0].dims[0])
            return cw_err_set(err, CW_E_INVALID,
                              "array %s has %" PRId64 " rows, and array %s has %" PRId64,
                              arrays[i].name ? arrays[i].name : "", arrays[i].dims[0],
                              arrays[0].name ? arrays[0].name : "", arrays[0].dims[0]);
    return 0;
}

void cachew_add_arrays(struct cachew_builder *builder, const struct cachew_tensor *arrays, size_t n,
                       const char *directory)
{
    struct cw_err err = {0};
    int rc = check_rows(arrays, n, &err);
    cw_autofree char **names = CW_NEW_ARRAY(char *, n);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_array(builder, &arrays[i], directory, &names[i], &err);
    if (rc < 0) {
        cw_builder_fail(builder, &err);
    } else if (n > 1) {
        cachew_add(builder, "zip");
        for (size_t i = 0; i < n; i++)
            cachew_add_input(builder, names[i]);
    }
    for (size_t i = 0; i < n; i++)
        cw_mem_free(names[i]);
}
