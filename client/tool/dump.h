/* SPDX-License-Identifier: Apache-2.0 */
/* The files that `cachew replay` writes to a directory: DIR/elementNNN/NN_node.ext for each result
 * of each operator, DIR/batch/field.ext for the batch, and DIR/index.json, which says what each
 * file is. Images are PNG (floats are scaled; their exact values lie beside as .npy), other
 * numbers .npy (NumPy format 1.0), strings .bin. */
#ifndef CW_CLIENT_TOOL_DUMP_H
#define CW_CLIENT_TOOL_DUMP_H

#include "client/tool/rebuild.h"

struct tool_dump_sum {
    uint64_t files;
    /* One of the files is an image whose floats were scaled to the range of its pixels. */
    bool scaled;
};
/* dir must not exist, or must be empty. recipe and digest are written to index.json. */
int tool_dump(const char *dir, struct cw_plan *plan, const struct tool_rebuilt *rebuilt,
              const char *recipe, const char *digest, struct tool_dump_sum *ret_sum,
              struct cw_err *err);

#endif
