/* SPDX-License-Identifier: Apache-2.0 */
/* The schema in a Parquet footer: a tree of columns, written depth first. */
#ifndef CW_FORMAT_PARQUET_SCHEMA_H
#define CW_FORMAT_PARQUET_SCHEMA_H

#include "format/parquet/footer.h"
#include "format/parquet/thrift.h"

/* Reads the list of schema elements into the footer's leaves. What is wrong is a fault of the
 * reader. */
void cw_pq_schema_read(struct cw_thrift *t, const struct cw_thrift_field *field,
                       struct cw_pq_footer *footer);

#endif
