/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_IO_REMOTE_S3_H
#define CW_IO_REMOTE_S3_H

#include "io/remote/fetch.h"

/* Makes a request of an object, or a list if it has a query, signed as at that time. On the loop
 * thread, or without one. */
int cw_s3_make_at(const struct cw_ask *ask, int64_t now_s, struct cw_wire *ret_wire,
                  struct cw_err *err);
/* Overwrites and frees credentials and what was learnt. The loop thread has ended. */
void cw_s3_forget(void);

#endif
