/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHEW_ERROR_H
#define CACHEW_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Error codes: functions return 0 (or a positive answer where stated) or one of these. The
 * numbers are part of the ABI. */
enum cachew_code {
    CACHEW_OK = 0,
    CACHEW_E_INVALID = -1,
    CACHEW_E_NOT_FOUND = -2,
    CACHEW_E_EXISTS = -3,
    CACHEW_E_DENIED = -4,
    CACHEW_E_NOMEM = -5,
    CACHEW_E_LIMIT = -6,
    CACHEW_E_IO = -7,
    CACHEW_E_CORRUPT = -8,
    CACHEW_E_TIMEOUT = -9,
    CACHEW_E_CANCELLED = -10,
    CACHEW_E_AGAIN = -11,
    CACHEW_E_END = -12,
    CACHEW_E_UNAVAILABLE = -13,
    CACHEW_E_STATE = -14,
    CACHEW_E_UNSUPPORTED = -15,
    CACHEW_E_INTERNAL = -16,
    CACHEW_E_OTHER_FILE = -17 /* a source file is not the one that the job was prepared with */
};

/* What went wrong, in words for people: names file, record or node, and what to do. The caller's
 * memory; initialise with CACHEW_ERROR_INIT. Every function that takes one accepts NULL. */
struct cachew_error {
    int code;
    char message[1024];
};
#define CACHEW_ERROR_INIT                                                                          \
    {                                                                                              \
        0,                                                                                         \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* "NOT_FOUND" and the like. Any thread. */
const char *cachew_code_name(int code);

#ifdef __cplusplus
}
#endif
#endif
