/* SPDX-License-Identifier: Apache-2.0 */
/* Source: paths of files. Reading them is read_file's work. */
#include "ops/source/file_set.h"
#include "ops/op_util.h"

#include <string.h>

struct files_opts {
    struct cw_str_list pattern;
    char *field;
};

#define OFFSET(member) offsetof(struct files_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field", .help = "name of the field", .type = CW_OPT_STR, .offset = OFFSET(field),
     .def = "\"path\""},
    {0}};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct files_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 0, NULL, ret_spec, err);
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state, struct cw_err *err)
{
    const struct files_opts *o = opts;
    struct cw_file_set *set;
    int rc = cw_file_set_new(&o->pattern, how->manifest, &set, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < set->n; i++)
        set->v[i].records = 1;
    rc = cw_file_set_sum(set, err);
    if (rc < 0)
        cw_file_set_free(set);
    else
        *ret_state = set;
    return rc;
}

static void close_files(void *state)
{
    cw_file_set_free(state);
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n, int64_t *ret_n,
                 struct cw_err *err)
{
    const struct cw_file_set *set = state;
    (void)opts;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = set->records;
    return 0;
}

static int read_path(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                     struct cw_element *ret_element, struct cw_err *err)
{
    const struct cw_file_set *set = state;
    char *path = set->v[pos].path;
    (void)ctx;
    (void)opts;
    (void)err;
    ret_element->n = 1;
    ret_element->fields[0] = (struct cw_view){.data = path, .bytes = strlen(path), .dtype = CW_DTYPE_STR, .stamp = &set->v[pos].stamp};
    return 0;
}

static void manifest(const void *opts, void *state, struct cw_value *ret_value)
{
    (void)opts;
    cw_file_set_manifest(state, ret_value);
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_file_set *set = state;
    (void)opts;
    cw_str_add(out, set->v[pos].path);
}

const struct cw_op cw_op_files = {
    .name = "files",
    .version = 1,
    .summary = "paths of the files that match a pattern",
    .doc = "Gives the paths, sorted bytewise, each once, of the regular files that match. In a pattern `*`, `?` and\n"
           "`[...]` work inside a path component, and `**` stands for any number of directories. Names that begin\n"
           "with a dot have to be written out. No match at all is an error. The list is made once for a job, when it\n"
           "is prepared; all workers use that list, and read_file refuses a file that is not as it was then.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES | CW_OP_PATHS,
    .options = options,
    .options_bytes = sizeof(struct files_opts),
    .infer = infer,
    .open = open_files,
    .close = close_files,
    .count = count,
    .read = read_path,
    .manifest = manifest,
    .describe = describe,
};
