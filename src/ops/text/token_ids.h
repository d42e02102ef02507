/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of tokens by their texts, from a file of any tokenizer: a tokenizer.json of whatever model (its
 * added tokens, and its vocabulary: an object, or of unigram models a list), a vocab.json, or a vocab.txt with a token
 * a line. */
#ifndef CW_OPS_TEXT_TOKEN_IDS_H
#define CW_OPS_TEXT_TOKEN_IDS_H

#include "conf/value.h"

/* Reads what the file says; the caller frees the value. A vocab.txt becomes a list of its lines. */
int cw_token_ids_read(const char *bytes, size_t n, struct cw_value *ret_file, struct cw_err *err);
/* Finds a token in it; NOT_FOUND names near ones. */
int cw_token_id(const struct cw_value *file, const char *text, int32_t *ret_id, struct cw_err *err);

#endif
