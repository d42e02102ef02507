/* SPDX-License-Identifier: Apache-2.0 */
/* Small functions of the public headers, and the conversion of errors to the public struct. */
#include "client/model/public.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/version.h"
#include "data/spec.h"

_Static_assert((int)CACHEW_E_INVALID == (int)CW_E_INVALID &&
                   (int)CACHEW_E_INTERNAL == (int)CW_E_INTERNAL,
               "one set of codes");
_Static_assert((int)CACHEW_E_CANCELLED == (int)CW_E_CANCELLED &&
                   (int)CACHEW_E_STATE == (int)CW_E_STATE,
               "one set of codes");
_Static_assert((int)CACHEW_E_OTHER_FILE == (int)CW_E_OTHER_FILE, "one set of codes");
_Static_assert((int)CACHEW_U8 == (int)CW_DTYPE_U8 && (int)CACHEW_STR == (int)CW_DTYPE_STR &&
                   (int)CACHEW_BF16 == (int)CW_DTYPE_BF16,
               "one set of dtypes");
_Static_assert(CACHEW_RANK_MAX == CW_RANK_MAX, "one rank");
_Static_assert(CACHEW_DIM_RAGGED == CW_DIM_RAGGED, "one number for ragged dims");

const char *cachew_version(void)
{
    return CW_VERSION;
}

const char *cachew_code_name(int code)
{
    return cw_err_name(code);
}

const char *cachew_dtype_name(enum cachew_dtype dtype)
{
    return (unsigned)dtype < CW_DTYPE_N ? cw_dtype_name((enum cw_dtype)dtype) : "unknown";
}

size_t cachew_dtype_bytes(enum cachew_dtype dtype)
{
    return (unsigned)dtype < CW_DTYPE_N ? cw_dtype_bytes((enum cw_dtype)dtype) : 0;
}

int cw_public_fail(struct cachew_error *error, const struct cw_err *err)
{
    if (error) {
        error->code = err->code;
        snprintf(error->message, sizeof(error->message), "%s", err->msg);
    }
    return err->code;
}

int cw_public_set(struct cachew_error *error, int code, const char *fmt, ...)
{
    if (error) {
        va_list args;
        va_start(args, fmt);
        error->code = code;
        vsnprintf(error->message, sizeof(error->message), fmt, args);
        va_end(args);
    }
    return code;
}
