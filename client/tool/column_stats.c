/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/column_stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/kernels/num.h"

size_t tool_column_stats_columns(const struct cw_field *field)
{
    const int64_t last = field->rank > 0 ? field->dims[field->rank - 1] : 1;
    return last < 1 || last > TOOL_COLUMNS_MAX ? 1 : (size_t)last;
}

void tool_column_stats_init(struct tool_column_stats *stats, size_t columns, size_t sample_max)
{
    *stats = (struct tool_column_stats){.columns = columns, .sample_max = sample_max};
    stats->v = CW_NEW_ARRAY(struct tool_column, columns);
    for (size_t c = 0; c < columns; c++)
        stats->v[c].sample = CW_NEW_ARRAY(double, sample_max);
}

void tool_column_stats_fini(struct tool_column_stats *stats)
{
    for (size_t c = 0; c < stats->columns; c++)
        cw_mem_free(stats->v[c].sample);
    cw_mem_free(stats->v);
    *stats = (struct tool_column_stats){0};
}

/* Reservoir sampling: value n takes the place of one of the sample with probability sample_max / n. The
 * numbers are the same in each run. */
static void add_to_sample(struct tool_column_stats *stats, struct tool_column *column, double x)
{
    uint64_t place = column->n;
    if (place >= stats->sample_max)
        place = cw_mix64(++stats->draws) % (column->n + 1);
    if (place < stats->sample_max)
        column->sample[place] = x;
}

/* Welford's sums. */
static void add_value(struct tool_column_stats *stats, struct tool_column *column, double x)
{
    if (!isfinite(x)) {
        column->missing += isnan(x) != 0;
        column->infinite += isnan(x) == 0;
        return;
    }
    add_to_sample(stats, column, x);
    column->min = column->n ? CW_MIN(column->min, x) : x;
    column->max = column->n ? CW_MAX(column->max, x) : x;
    column->n++;
    const double difference = x - column->mean;
    column->mean += difference / (double)column->n;
    column->squares += difference * (x - column->mean);
}

void tool_column_stats_add(struct tool_column_stats *stats, const struct cw_view *view)
{
    const size_t n = view->bytes / cw_dtype_bytes(view->dtype);
    for (size_t i = 0, c = 0; i < n; i++, c = c + 1 == stats->columns ? 0 : c + 1)
        add_value(stats, &stats->v[c], cw_num_get_f64(view->dtype, view->data, i));
}

/* ---- results ---- */

static double std_of(const struct tool_column *column)
{
    return column->n ? sqrt(column->squares / (double)column->n) : 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* NumPy's quantile: between the two values next to the place. */
static double quantile(const double *sorted, size_t n, size_t k, size_t of)
{
    const double place = (double)(n - 1) * (double)k / (double)of, low = floor(place);
    const size_t i = (size_t)low;
    return i + 1 < n ? sorted[i] + (sorted[i + 1] - sorted[i]) * (place - low) : sorted[n - 1];
}

static void print_quantiles(const struct tool_column_stats *stats, struct tool_column *column,
                            size_t quantiles, struct cw_value *ret_list)
{
    const size_t n = (size_t)CW_MIN(column->n, (uint64_t)stats->sample_max);
    struct cw_value *items = cw_value_set_list(ret_list, quantiles + 1);
    qsort(column->sample, n, sizeof(*column->sample), compare);
    for (size_t k = 0; k <= quantiles; k++)
        cw_value_set_f64(&items[k], n ? quantile(column->sample, n, k, quantiles) : 0);
    if (n > 0) {
        cw_value_set_f64(&items[0], column->min);
        cw_value_set_f64(&items[quantiles], column->max);
    }
}

#define PRINT(key, set, expression)                                                                \
    do {                                                                                           \
        struct cw_value *items = cw_value_set_list(cw_value_member(object, key), stats->columns);  \
        for (size_t c = 0; c < stats->columns; c++) {                                              \
            const struct tool_column *column = &stats->v[c];                                       \
            set(&items[c], expression);                                                            \
        }                                                                                          \
    } while (0)

void tool_column_stats_print(struct tool_column_stats *stats, size_t quantiles,
                             struct cw_value *object)
{
    PRINT("count", cw_value_set_i64, (int64_t)column->n);
    PRINT("missing", cw_value_set_i64, (int64_t)column->missing);
    PRINT("infinite", cw_value_set_i64, (int64_t)column->infinite);
    PRINT("min", cw_value_set_f64, column->min);
    PRINT("max", cw_value_set_f64, column->max);
    PRINT("mean", cw_value_set_f64, column->mean);
    PRINT("std", cw_value_set_f64, std_of(column));
    struct cw_value *items =
        cw_value_set_list(cw_value_member(object, "quantiles"), stats->columns);
    for (size_t c = 0; c < stats->columns; c++)
        print_quantiles(stats, &stats->v[c], quantiles, &items[c]);
}
