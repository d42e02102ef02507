/* SPDX-License-Identifier: Apache-2.0 */
/* How large a record of a file may be (option `record_max`): a larger one is bad, and takes no memory. */
#ifndef CW_OPS_SOURCE_RECORD_MAX_H
#define CW_OPS_SOURCE_RECORD_MAX_H

#include "ops/op.h"

/* A row of a table of options: an int64_t. */
#define CW_RECORD_MAX_ROW(offset_, def_)                                                           \
    {                                                                                              \
        .name = "record_max", .help = "a record of more bytes is bad", .type = CW_OPT_BYTES,       \
        .offset = (offset_), .def = (def_), .min = 1, .max = 0x1p31, .flags = CW_OPT_NEWER         \
    }

/* Checks the bytes of record k, which begins at a byte of a file. */
static inline int cw_record_max_check(int64_t most, uint64_t bytes, const char *path, uint64_t k,
                                      uint64_t begin, struct cw_err *err)
{
    return bytes <= (uint64_t)most
               ? 0
               : cw_err_set(err, CW_E_LIMIT,
                            "%s record %llu at byte %llu: has %llu bytes, the limit is %llu "
                            "(option record_max)",
                            path, (unsigned long long)k, (unsigned long long)begin,
                            (unsigned long long)bytes, (unsigned long long)most);
}

/* Without an index the option does nothing, so it is refused. */
static inline int cw_record_max_unindexed(int64_t most, int64_t def, struct cw_err *err)
{
    return most == def
               ? 0
               : cw_err_set(err, CW_E_INVALID, "option record_max: is not for index: false");
}

#endif
