/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/answer.h"

#include "base/err.h"

#define STILL_MS_MAX (24 * 3600 * 1000) /* The limit is as high as that of timeout_ms. */

/* Returns whether another attempt would get the same answer. */
static bool is_final(int code)
{
    return code == CW_E_INVALID || code == CW_E_DENIED || code == CW_E_UNSUPPORTED ||
           code == CW_E_LIMIT || code == CW_E_STATE || code == CW_E_OTHER_FILE ||
           code == CW_E_EXISTS || code == CW_E_NOT_FOUND;
}

enum cw_answer cw_answer_to_close(int code, bool begun)
{
    return !begun && is_final(code) ? CW_ANSWER_FAIL : CW_ANSWER_RETRY;
}

enum cw_answer cw_answer_to_error(int code, bool can_restart)
{
    /* The dispatcher stops, or cannot serve the job now; it ends the stream. */
    if (cw_err_is_retryable(code))
        return CW_ANSWER_RETRY;
    return code == CW_E_NOT_FOUND && can_restart ? CW_ANSWER_RESTART : CW_ANSWER_FAIL;
}

int cw_answer_code(int code)
{
    return code < 0 && code > -(int)CW_ORD_N ? code : CW_E_INTERNAL;
}

int64_t cw_answer_start_limit(int64_t start_by_ns, int64_t now_ns, int64_t timeout_ms,
                              uint64_t still_ms)
{
    if (still_ms == CW_SESSION_STUCK)
        return start_by_ns;
    int64_t left_ms = timeout_ms - (int64_t)CW_MIN(still_ms, STILL_MS_MAX);
    return CW_MAX(start_by_ns, now_ns + left_ms * 1000000);
}
