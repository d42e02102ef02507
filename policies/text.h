/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units, for the sentences that give reasons. */
#ifndef CW_POLICIES_TEXT_H
#define CW_POLICIES_TEXT_H

#include "base/str.h"

void cw_policy_add_time(struct cw_str *out, double ns);     /* "12.3 ms", "4.50 s" or "1.2 h" */
void cw_policy_add_bytes(struct cw_str *out, double bytes); /* a text like "1.5 GB" */

#endif
