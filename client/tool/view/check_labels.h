/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the numbers that sources give to names which they find where the files are (classes of image_folder). */
#ifndef CW_CLIENT_TOOL_VIEW_CHECK_LABELS_H
#define CW_CLIENT_TOOL_VIEW_CHECK_LABELS_H

#include "graph/check.h"

/* Appends a line for each such source: its first names with their numbers. Where the files cannot be seen the line
 * says so. */
void tool_check_labels(const struct cw_checked *checked, struct cw_str *out);
/* All names, as members of objects in a JSON list, without its brackets. */
void tool_check_labels_json(const struct cw_checked *checked, struct cw_str *out);

#endif
