/* SPDX-License-Identifier: Apache-2.0 */
/* Means, deviations and quantiles of the columns of a numeric field, in one pass. A column is a place in
 * the last dimension. */
#ifndef CW_CLIENT_TOOL_COLUMN_STATS_H
#define CW_CLIENT_TOOL_COLUMN_STATS_H

#include "base/rng.h"
#include "conf/value.h"
#include "data/element.h"

/* A field with more places in its last dimension, or not always as many, is one column. */
#define TOOL_COLUMNS_MAX 1024

struct tool_column {
    uint64_t n, missing, infinite; /* finite values, NaNs, others */
    double min, max, mean;
    double squares; /* the sum of squared differences from the mean */
    double *sample; /* of the finite values, each as likely as any other */
};
struct tool_column_stats {
    size_t columns, sample_max;
    uint64_t draws;
    struct tool_column *v;
};

/* How many columns a field has; the spec is that of elements. */
size_t tool_column_stats_columns(const struct cw_field *field);
/* sample_max: how many values of a column are kept for its quantiles; they are exact if it has no
 * more. */
void tool_column_stats_init(struct tool_column_stats *stats, size_t columns, size_t sample_max);
void tool_column_stats_fini(struct tool_column_stats *stats);
void tool_column_stats_add(struct tool_column_stats *stats, const struct cw_view *view);
/* Adds to an object: count, missing, infinite, min, max, mean, std, and `quantiles` + 1 quantiles of
 * each column. */
void tool_column_stats_print(struct tool_column_stats *stats, size_t quantiles,
                             struct cw_value *object);

#endif
