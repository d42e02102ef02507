/* SPDX-License-Identifier: Apache-2.0 */
/* Source `source_blocks`: the blocks of files as the source cache sees them. `cachew cache warm`
 * and `cachew cache status` run it on the workers, so that the work is divided among them, done
 * once, and reports progress like any other job. */
#include "ops/op_util.h"
#include "ops/source/file_source.h"

struct blocks_opts {
    struct cw_str_list pattern;
    bool load;
    int64_t run;
};

#define FIELDS 4

#define OFFSET(member) offsetof(struct blocks_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "load",
     .help = "bring them into the source cache",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(load),
     .def = "false"},
    {.name = "run",
     .help = "any number: jobs with different ones do not share their results",
     .type = CW_OPT_I64,
     .offset = OFFSET(run),
     .def = "0"},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)opts;
    (void)in;
    (void)in_n;
    int rc = cw_spec_add(ret_spec, "bytes", CW_DTYPE_I64, 0, NULL, err);
    if (rc == 0)
        rc = cw_spec_add(ret_spec, "tiers", CW_DTYPE_I64, 0, NULL, err);
    if (rc == 0)
        rc = cw_spec_add(ret_spec, "read", CW_DTYPE_I64, 0, NULL, err);
    return rc == 0 ? cw_spec_add(ret_spec, "first", CW_DTYPE_I64, 0, NULL, err) : rc;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct cw_file_source *s = state;
    (void)how;
    (void)err;
    s->files->v[i].records = (int64_t)cw_source_blocks(s->files->v[i].stamp.size);
    return 0;
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct cw_file_source), .prepare = prepare, .glob = cw_io_glob_tree};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct blocks_opts *o = opts;
    if (o->load && !cw_source_is_cached())
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "this worker has no source cache: give it --source-cache-dir, or the "
                          "dispatcher --source-cache-quota");
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

static int read_block(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    const struct blocks_opts *o = opts;
    struct cw_file_set *set = ((struct cw_file_source *)state)->files;
    size_t i = cw_file_set_locate(set, pos);
    struct cw_file_use use;
    struct cw_source_block block = {0};
    int rc = cw_file_set_use(set, i, &use, err);
    if (rc < 0)
        return rc;
    rc = cw_source_block_get(&use.source, (uint64_t)(pos - set->v[i].first), o->load, &block, err);
    cw_file_set_release(set, &use);
    int64_t *values = rc == 0 ? cw_op_scratch(ctx, FIELDS * sizeof(*values), err) : NULL;
    if (!values)
        return rc < 0 ? rc : CW_E_NOMEM;
    values[0] = (int64_t)block.bytes;
    values[1] = (int64_t)block.tiers;
    values[2] = (int64_t)block.read_bytes;
    values[3] = pos == set->v[i].first;
    ret_element->n = FIELDS;
    for (size_t k = 0; k < FIELDS; k++)
        ret_element->fields[k] =
            (struct cw_view){.data = &values[k], .bytes = sizeof(*values), .dtype = CW_DTYPE_I64};
    return 0;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_file_set *set = ((struct cw_file_source *)state)->files;
    const struct cw_file *file = &set->v[cw_file_set_locate(set, pos)];
    (void)opts;
    cw_str_addf(out, "%s block %lld", file->path, (long long)(pos - file->first));
}

const struct cw_op cw_op_source_blocks = {
    .name = "source_blocks",
    .version = 2,
    .summary = "where blocks of files are cached",
    .doc =
        "For `cachew cache warm` and `cachew cache status`, not for training. Gives for each "
        "block (1 MiB) of the files its size (`bytes`), in\n"
        "which tiers of the source cache of the worker that was asked it is (`tiers`: 1 = "
        "memory, 2 = directory, 4 = store), and, with\n"
        "`load`, how much was read from the file to bring it there (`read`); `first` is 1 for "
        "the first block of a file. This says how things stand, so\n"
        "it is another each time, and no cache keeps it. Patterns as for `files`; a folder stands "
        "for all files below it.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES | CW_OP_OPAQUE,
    .options = options,
    .options_bytes = sizeof(struct blocks_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_block,
    .manifest = cw_file_source_manifest,
    .describe = describe,
};
