/* SPDX-License-Identifier: Apache-2.0 */
/* Merging the symbols of a long word with a heap of pairs, in n log n steps. */
#ifndef CW_OPS_TEXT_BPE_LONG_H
#define CW_OPS_TEXT_BPE_LONG_H

#include "ops/text/bpe.h"

/* Merges n symbols in place. Returns how many are left, or NOMEM or LIMIT. */
int64_t cw_bpe_merge_long(const struct cw_bpe *bpe, struct cw_bpe_scratch *scratch, int32_t *ids,
                          size_t n, struct cw_err *err);

#endif
