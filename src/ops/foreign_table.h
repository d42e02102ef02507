/* SPDX-License-Identifier: Apache-2.0 */
/* Reads definitions of operators that are not part of cachew. They come from peers and from pipelines, so
 * each member is checked. */
#ifndef CW_OPS_FOREIGN_TABLE_H
#define CW_OPS_FOREIGN_TABLE_H

#include "ops/foreign.h"

/* Members of a definition that are bits; the numbers are those of cachew/op.h. */
enum cw_foreign_traits {
    CW_FOREIGN_RANDOM = 1u << 0,
    CW_FOREIGN_SHRINKS = 1u << 1,
    CW_FOREIGN_GROWS = 1u << 2,
    CW_FOREIGN_DROPS = 1u << 3,
    CW_FOREIGN_VARIES = 1u << 4,
    CW_FOREIGN_AFFINE = 1u << 5,
    CW_FOREIGN_PERMUTES = 1u << 6
};
enum cw_foreign_facts {
    CW_FOREIGN_EACH_VALUE = 1u << 0,
    CW_FOREIGN_NEVER_REFUSES = 1u << 1,
    CW_FOREIGN_KEEPS_ZERO = 1u << 2,
    CW_FOREIGN_BY_BATCH = 1u << 3
};

/* ---- foreign_list.c ---- */
/* Begins to look through the list, which nobody else changes until cw_foreign_end; returns its length. */
size_t cw_foreign_begin(void);
struct cw_foreign *cw_foreign_at(size_t i);
/* Ends that, and adds an operator unless it is NULL. */
void cw_foreign_end(struct cw_foreign *added);
/* ---- foreign_stub.c ---- */
/* Sets the functions of a stub. */
void cw_foreign_stub(struct cw_foreign *foreign);
/* ---- foreign_table.c ---- */
/* Sets the functions that follow from the definition alone. */
void cw_foreign_common(struct cw_foreign *foreign);
/* Makes the operator with the number `index`, without functions. text: of its definition. */
int cw_foreign_table(const struct cw_foreign_new *how, const char *text, size_t index,
                     struct cw_foreign **ret_foreign, struct cw_err *err);

#endif
