/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_OPS_SOURCE_NO_FILES_H
#define CW_OPS_SOURCE_NO_FILES_H

#include "base/err.h"
#include "conf/opt.h"

/* Returns NOT_FOUND, with a message that names the patterns, the first one and the number of others,
 * and says what in the first one is not what it seems. */
int cw_no_files(const struct cw_str_list *patterns, struct cw_err *err);

#endif
