/* SPDX-License-Identifier: Apache-2.0 */
/* Work on a server that needs credentials which are good for some time only, and which are got from a
 * server themselves: they are got before the work, and anew if they turn out to be good no more. Any
 * thread but the loop's. */
#ifndef CW_IO_REMOTE_CREDENTIALS_H
#define CW_IO_REMOTE_CREDENTIALS_H

#include "io/remote/fetch.h"

struct cw_credentials {
    /* Sees to it that there are credentials, if any are to be had. */
    int (*ensure)(const struct cw_stop *stop, struct cw_err *err);
    /* Gives up what was refused. Returns true if it makes sense to get others. rc: what the work
     * failed with. */
    bool (*drop)(int rc);
};

/* One piece of work. Done a second time if the credentials were refused. */
typedef int cw_credentials_work_fn(void *arg, const struct cw_stop *stop, struct cw_err *err);
int cw_credentials_do(const struct cw_credentials *credentials, cw_credentials_work_fn *work,
                      void *arg, const struct cw_stop *stop, struct cw_err *err);

/* The functions of object.h, with credentials. */
int cw_credentials_stat(const struct cw_credentials *credentials, const struct cw_dialect *dialect,
                        const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                        struct cw_err *err);
int cw_credentials_open(const struct cw_credentials *credentials, const struct cw_dialect *dialect,
                        const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                        struct cw_err *err);
int cw_credentials_read(const struct cw_credentials *credentials, const struct cw_io_file *file,
                        uint64_t offset, void *dst, size_t n, const struct cw_stop *stop,
                        struct cw_err *err);
/* Gets the body of an answer of at most body_max bytes; cw_str_fini. */
int cw_credentials_get(const struct cw_credentials *credentials, const struct cw_dialect *dialect,
                       const char *url, const char *query, size_t body_max,
                       const struct cw_stop *stop, struct cw_str *ret_body, struct cw_err *err);

#endif
