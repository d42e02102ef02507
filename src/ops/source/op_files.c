/* SPDX-License-Identifier: Apache-2.0 */
/* Source `files`: gives the paths of files. The operator read_file reads them. */
#include "ops/op_util.h"
#include "ops/source/file_source.h"

#include <string.h>

struct files_opts {
    struct cw_str_list pattern;
    char *field;
};

#define OFFSET(member) offsetof(struct files_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"path\""},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct files_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_STR, 0, NULL, ret_spec, err);
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct cw_file_source *s = state;
    (void)how;
    (void)err;
    s->files->v[i].records = 1;
    return 0;
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct cw_file_source), .prepare = prepare, .names_only = true};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct files_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

static int read_path(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                     struct cw_element *ret_element, struct cw_err *err)
{
    const struct cw_file_source *s = state;
    const struct cw_file *file = &s->files->v[pos];
    (void)ctx;
    (void)opts;
    (void)err;
    ret_element->n = 1;
    ret_element->fields[0] = (struct cw_view){.data = file->path,
                                              .bytes = strlen(file->path),
                                              .dtype = CW_DTYPE_STR,
                                              .stamp = &file->stamp};
    return 0;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_file_source *s = state;
    (void)opts;
    cw_str_add(out, s->files->v[pos].path);
}

static const char *locate(const void *opts, void *state, int64_t pos, int64_t *ret_record)
{
    const struct cw_file_source *s = state;
    (void)opts;
    *ret_record = -1;
    return s->files->v[pos].path;
}

const struct cw_op cw_op_files = {
    .name = "files",
    .version = 1,
    .summary = "paths of the files that match a pattern",
    .doc = "Gives the paths, sorted bytewise, each once, of the regular files that match. In a "
           "pattern `*`, `?` and\n"
           "`[...]` work inside a path component, and `**` stands for any number of directories. "
           "`{a,b}` and\n"
           "`{000..127}` stand for several patterns, each of which has to name a file or to have "
           "wildcards. Names that begin\n"
           "with a dot have to be written out. No match at all is an error. The list is made once "
           "for a job, when it\n"
           "is prepared; all workers use that list, and read_file refuses a file that is not as it "
           "was then\n"
           "(pipelines.md says how that is told).",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES | CW_OP_PATHS,
    .options = options,
    .options_bytes = sizeof(struct files_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_path,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = locate,
    .ahead = cw_file_source_ahead,
};
