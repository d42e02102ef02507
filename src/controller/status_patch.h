/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a CacheBackend as a merge patch, if there is anything to write. Pure functions. */
#ifndef CW_CONTROLLER_STATUS_PATCH_H
#define CW_CONTROLLER_STATUS_PATCH_H

#include "controller/decide.h"

#define CW_FIGURES_MS 30000 /* figures alone are written at most so often */

enum cw_status_change {
    CW_STATUS_SAME,
    CW_STATUS_FIGURES, /* only figures differ: it may wait */
    CW_STATUS_STATE    /* a word, a condition, a user: it is written at once */
};
/* Compares the plan with the status that the object has. If they differ, appends the body of a merge
 * patch of the subresource, which holds only if the object still has the version that was read. */
enum cw_status_change cw_status_patch(const struct cw_sight *sight, const struct cw_decision *plan,
                                      struct cw_str *out);
/* Appends "1.5GiB": three digits, so that small changes are none. */
void cw_status_size(uint64_t bytes, struct cw_str *out);

#endif
