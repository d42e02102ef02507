/* SPDX-License-Identifier: Apache-2.0 */
/* Errors. Functions return 0 or a negative cw_code, and the place where an error arises writes the
 * message; callers only add to it ("while ...: "). Libraries do not log errors; mains and handlers
 * do. */
#ifndef CW_BASE_ERR_H
#define CW_BASE_ERR_H

#include <stdbool.h>
#include "base/compiler.h"

enum cw_code_ordinal {
    CW_ORD_OK,
#define CW_ERR(name, grpc, retry, text) CW_ORD_##name,
#include "base/err_list.h"
#undef CW_ERR
    CW_ORD_N
};

enum cw_code {
    CW_OK = 0,
#define CW_ERR(name, grpc, retry, text) CW_E_##name = -(int)CW_ORD_##name,
#include "base/err_list.h"
#undef CW_ERR
};

/* An error with its message. It is never on the heap, and zero-initialised with {0}. Functions
 * accept a NULL err and then only return the code. */
struct cw_err {
    int code;
    char msg[1024];
};

/* Sets code and message, and returns code, so that `return cw_err_set(...)` can be written. Long
 * messages are cut at the end of a character. */
int cw_err_set(struct cw_err *err, int code, const char *fmt, ...) CW_PRINTF(3, 4);
/* Does the same with ": strerror" appended; the code follows from errno (ENOENT -> NOT_FOUND,
 * ...). */
int cw_err_errno(struct cw_err *err, int sys_errno, const char *fmt, ...) CW_PRINTF(3, 4);
/* Puts "<fmt>: " before the present message, and returns the present code. */
int cw_err_wrap(struct cw_err *err, const char *fmt, ...) CW_PRINTF(2, 3);
/* Returns "NOT_FOUND" and the like; "OK" for 0; "UNKNOWN" for other numbers. */
const char *cw_err_name(int code);
/* Returns the one-line text of the code in err_list.h. */
const char *cw_err_text(int code);
int cw_err_is_retryable(int code);
/* Whether the error means that the data are bad, so that it occurs wherever they are read; false
 * for errors of this process, its host or its disk. */
bool cw_err_is_of_data(int code);
/* Convert a code to a gRPC status (0 to 0), and a status to a code (unknown statuses to
 * INTERNAL). */
int cw_err_to_grpc(int code);
int cw_err_from_grpc(int status);

#endif
