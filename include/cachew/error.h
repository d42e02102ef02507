/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHEW_ERROR_H
#define CACHEW_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Error codes. A function that can fail returns 0 (or a positive answer where it says so) or one
 * of these negative codes. The numbers are part of the ABI; further codes may be added. */
enum cachew_code {
    CACHEW_OK = 0,
    CACHEW_E_INVALID = -1,      /* an argument, an option or a pipeline is wrong */
    CACHEW_E_NOT_FOUND = -2,    /* there is no such file, job, tensor, ... */
    CACHEW_E_EXISTS = -3,       /* the name is taken by something else */
    CACHEW_E_DENIED = -4,       /* the system, or the dispatcher, refuses access */
    CACHEW_E_NOMEM = -5,        /* there is not enough memory for a batch or a file */
    CACHEW_E_LIMIT = -6,        /* a limit or a quota is reached; the message says which */
    CACHEW_E_IO = -7,           /* reading or writing failed */
    CACHEW_E_CORRUPT = -8,      /* data are damaged */
    CACHEW_E_TIMEOUT = -9,      /* the time limit of the call has passed; it may be called again */
    CACHEW_E_CANCELLED = -10,   /* cachew_cancel_set or cachew_job_cancel was called */
    CACHEW_E_AGAIN = -11,       /* not ready yet */
    CACHEW_E_END = -12,         /* there is nothing more */
    CACHEW_E_UNAVAILABLE = -13, /* a dispatcher or worker cannot be reached */
    CACHEW_E_STATE = -14,       /* not possible with this object now, or in a forked child */
    CACHEW_E_UNSUPPORTED = -15, /* not supported, for example by a peer of another version */
    CACHEW_E_INTERNAL = -16,    /* a mistake in cachew */
    CACHEW_E_OTHER_FILE = -17   /* a source file is not the one that the job was prepared with */
};

/* What went wrong. `code` is what the function returned; `message` is for people: it names the
 * file, record or node, and what to do. The struct is the caller's memory, nothing in it has to be
 * freed; initialise it with CACHEW_ERROR_INIT. It is written on failure only. Every function that
 * takes one accepts NULL. */
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

/* The name of a code without its prefix, for example "NOT_FOUND"; the text is static. Any
 * thread. */
const char *cachew_code_name(int code);

#ifdef __cplusplus
}
#endif
#endif
