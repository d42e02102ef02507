/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer says, for fetch.c. */
#ifndef CW_IO_REMOTE_FETCH_INT_H
#define CW_IO_REMOTE_FETCH_INT_H

#include "io/remote/fetch.h"

/* The version that the next bytes must be of: what the caller expects, or what the first bytes were
 * of; NULL: any. */
const struct cw_io_info *cw_fetch_means(const struct cw_fetch *fetch);
/* Reads status and headers: sets is_good if the body is what was asked for, and `why` if it is not
 * and cannot become so. */
void cw_fetch_read_head(struct cw_fetch *fetch, const struct cw_http_response *response);
/* Makes an error of a refusal, with what its body says. */
void cw_fetch_read_refusal(const struct cw_fetch *fetch, struct cw_err *ret_why);
/* Whether a refusal may pass by itself. Sets how long the server asks us to wait. */
bool cw_fetch_may_pass(const struct cw_fetch *fetch, const struct cw_http_response *response,
                       int64_t *ret_wait_ms);
bool cw_fetch_is_redirect(int status);
/* Parses "bytes 0-99/1234" and "bytes 0-99" followed by "/" and "*": then the size is -1. Returns
 * false for anything else. */
bool cw_fetch_parse_range(const char *text, uint64_t *ret_begin, uint64_t *ret_end,
                          int64_t *ret_size);

#endif
