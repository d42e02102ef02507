/* SPDX-License-Identifier: Apache-2.0 */
/* The indices of token files as Megatron-LM writes them (.idx of an MMapIndexedDataset, beside a .bin):
 * how long each sequence is and where it begins, and which sequences are a document. */
#ifndef CW_FORMAT_MEGATRON_H
#define CW_FORMAT_MEGATRON_H

#include "data/spec.h"
#include "format/line_index.h"
#include "format/read_at.h"

struct cw_megatron_head {
    enum cw_dtype dtype;
    uint64_t sequences, documents;
};
/* Reads the head, and compares the counts with the size of the file. */
int cw_megatron_head_read(const struct cw_readable *idx, struct cw_megatron_head *ret_head,
                          struct cw_err *err);
/* Makes the index of the sequences of a .bin of data_bytes bytes, or of its documents. The sequences must
 * be the whole of it, one behind the other. */
int cw_megatron_index(const struct cw_readable *idx, const struct cw_megatron_head *head,
                      bool documents, uint64_t data_bytes, struct cw_line_index **ret_index,
                      struct cw_err *err);

#endif
