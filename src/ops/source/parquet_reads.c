/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates by the first row group what rows of Parquet files cost out of order. */
#include "ops/source/parquet_files.h"

#include "base/mem.h"

/* Estimates how many bytes a column of a row group has once it is decoded, with its dictionary: strings as many as
 * are stored. */
static double decoded(const struct cw_pq_leaf *leaf, const struct cw_pq_chunk *chunk,
                      const struct cw_pq_pages *pages)
{
    static const double widths[CW_PQ_PHYSICAL_N] = {
        [CW_PQ_BOOLEAN] = 1, [CW_PQ_INT32] = 4, [CW_PQ_INT64] = 8,
        [CW_PQ_INT96] = 8,   [CW_PQ_FLOAT] = 4, [CW_PQ_DOUBLE] = 8};
    const double width =
        leaf->physical == CW_PQ_FIXED ? (double)leaf->type_bytes : widths[leaf->physical];
    const double values = width * (double)chunk->values;
    return CW_MAX((double)(chunk->end - chunk->begin),
                  values + (double)(pages->dict_end - pages->dict_begin));
}

/* Adds a column of the first row group, and a run of its pages. */
static int add_cost(const struct cw_readable *file, const struct cw_pq_footer *footer,
                    const char *column, struct cw_op_reads *reads, struct cw_err *err)
{
    const int leaf = cw_pq_footer_find(footer, column);
    struct cw_pq_pages pages = {0};
    if (leaf < 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: there is no column %s", file->name, column);
    int rc = cw_pq_pages_find(file, footer, 0, (size_t)leaf, CW_PARQUET_JOIN_BYTES, &pages, err);
    if (rc < 0)
        return rc;
    const struct cw_pq_chunk *chunk = &footer->chunks[leaf];
    const double made = decoded(&footer->leaves[leaf], chunk, &pages),
                 runs = (double)CW_MAX(pages.n, (size_t)1);
    reads->block += made;
    reads->together += made / runs;
    reads->stored += (double)(chunk->end - chunk->begin) / runs;
    cw_pq_pages_fini(&pages);
    return 0;
}

static int add_costs(const struct cw_parquet_opts *o, const struct cw_readable *file,
                     const struct cw_pq_footer *footer, struct cw_op_reads *reads,
                     struct cw_err *err)
{
    struct cw_table_fields fields;
    if (footer->groups_n == 0 || footer->groups[0].rows == 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s has no rows", file->name);
    int rc = cw_table_fields_read(&cw_parquet_table, &o->table, &fields, err);
    if (rc < 0)
        return rc;
    for (size_t k = 0; k < fields.columns_n && rc == 0; k++)
        rc = add_cost(file, footer, fields.columns[k].name, reads, err);
    cw_table_fields_fini(&fields);
    reads->element = reads->block / (double)footer->groups[0].rows;
    return rc == 0 && !(reads->element > 0)
               ? cw_err_set(err, CW_E_UNSUPPORTED, "%s has no bytes", file->name)
               : rc;
}

int cw_parquet_reads(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct cw_parquet_opts *o = opts;
    const struct cw_op_open how = {0};
    struct cw_op_reads reads = {
        .what = "decoded", .option = "cache", .share = "half", .memory = (double)o->cache_bytes};
    struct cw_pq_footer footer = {0};
    struct cw_readable file;
    struct cw_io_file opened;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(&o->pattern, &how, &path, err);
    if (rc == 0)
        rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = cw_pq_footer_read(&file, &footer, err);
    if (rc == 0)
        rc = add_costs(o, &file, &footer, &reads, err);
    cw_pq_footer_fini(&footer);
    cw_io_close(&opened);
    *ret_reads = reads;
    return rc;
}
