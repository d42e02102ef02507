/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as .npy files of version 1.0 (numpy.lib.format), whose rows are read alone. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

#include "base/str.h"
#include "client/arrays/array_write.h"

#define HEAD_ALIGN 64

/* What NumPy calls a type, without the byte order. */
static const char *const descr[] = {
    [CACHEW_U8] = "u1",  [CACHEW_I8] = "i1",  [CACHEW_U16] = "u2", [CACHEW_I16] = "i2",
    [CACHEW_U32] = "u4", [CACHEW_I32] = "i4", [CACHEW_U64] = "u8", [CACHEW_I64] = "i8",
    [CACHEW_F16] = "f2", [CACHEW_F32] = "f4", [CACHEW_F64] = "f8", [CACHEW_BOOL] = "b1",
};

static char order_of(enum cachew_dtype dtype)
{
    if (cachew_dtype_bytes(dtype) == 1)
        return '|';
    return __BYTE_ORDER == __LITTLE_ENDIAN ? '<' : '>';
}

int cw_array_write_npy(const struct cachew_tensor *array, const char *tmp, struct cw_err *err)
{
    static const char magic[] = "\x93NUMPY\x01";
    CW_STR_AUTO head = {0};
    cw_str_add_bytes(&head, magic, sizeof(magic)); /* with its NUL: version 1.0 */
    cw_str_add_bytes(&head, "\0\0", 2);            /* how much follows */
    cw_str_addf(&head, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                order_of(array->dtype), descr[array->dtype]);
    for (int i = 0; i < array->rank; i++)
        cw_str_addf(&head, "%" PRId64 ",%s", array->dims[i], i + 1 < array->rank ? " " : "");
    cw_str_addf(&head, "), }");
    while ((head.len + 1) % HEAD_ALIGN)
        cw_str_add_char(&head, ' ');
    cw_str_add_char(&head, '\n');
    const size_t rest = head.len - sizeof(magic) - 2;
    head.s[sizeof(magic)] = (char)(rest & 0xff);
    head.s[sizeof(magic) + 1] = (char)(rest >> 8);
    union {
        const void *from;
        void *to;
    } data = {array->data};
    const struct iovec parts[] = {{head.s, head.len}, {data.to, array->bytes}};
    return cw_array_write_parts(tmp, parts, 2, err);
}
