/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages and the tables made from err_list.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct code_row {
    const char *name;
    const char *text;
    int grpc;
    int retry;
};

static const struct code_row rows[CW_ORD_N] = {
    {"OK", "ok", 0, 0},
#define CW_ERR(name, grpc, retry, text) {#name, text, grpc, retry},
#include "base/err_list.h"
#undef CW_ERR
};

static const struct code_row *find_row(int code)
{
    return code <= 0 && code > -(int)CW_ORD_N ? &rows[-code] : NULL;
}

/* Cuts a message that did not fit, at the end of a character and not inside of one. */
static void cut_at_character(char *msg, size_t cap)
{
    size_t n = cap - 1;

    while (n > 0 && ((unsigned char)msg[n - 1] & 0xc0) == 0x80)
        n--;
    if (n == 0)
        return;
    unsigned char lead = (unsigned char)msg[n - 1];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (n - 1 + need > cap - 1)
        msg[n - 1] = '\0';
}

static CW_PRINTF(3, 0) size_t format(char *msg, size_t cap, const char *fmt, va_list args)
{
    int n = vsnprintf(msg, cap, fmt, args);

    if (n < 0) {
        msg[0] = '\0';
        return 0;
    }
    if ((size_t)n >= cap) {
        cut_at_character(msg, cap);
        return strlen(msg);
    }
    return (size_t)n;
}

static void append(char *msg, size_t cap, size_t at, const char *more)
{
    size_t n = strlen(more);

    if (at + n < cap) {
        memcpy(msg + at, more, n + 1);
        return;
    }
    memcpy(msg + at, more, cap - 1 - at);
    msg[cap - 1] = '\0';
    cut_at_character(msg, cap);
}

int cw_err_set(struct cw_err *err, int code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    va_start(args, fmt);
    format(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    return code;
}

static int code_of_errno(int sys_errno)
{
    switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
        return CW_E_NOT_FOUND;
    case EEXIST:
    case EADDRINUSE:
        return CW_E_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return CW_E_DENIED;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return CW_E_NOMEM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return CW_E_LIMIT;
    case ETIMEDOUT:
        return CW_E_TIMEOUT;
    case ECANCELED:
        return CW_E_CANCELLED;
    case EAGAIN:
    case EINTR:
        return CW_E_AGAIN;
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return CW_E_UNAVAILABLE;
    case EINVAL:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return CW_E_INVALID;
    case ENOSYS:
    case EOPNOTSUPP:
        return CW_E_UNSUPPORTED;
    default:
        return CW_E_IO;
    }
}

int cw_err_errno(struct cw_err *err, int sys_errno, const char *fmt, ...)
{
    char text[128];
    va_list args;
    int code = code_of_errno(sys_errno);

    if (!err)
        return code;
    err->code = code;
    va_start(args, fmt);
    size_t n = format(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    append(err->msg, sizeof(err->msg), n, ": ");
    append(err->msg, sizeof(err->msg), strlen(err->msg), strerror_r(sys_errno, text, sizeof(text)));
    return code;
}

int cw_err_wrap(struct cw_err *err, const char *fmt, ...)
{
    struct cw_err old;
    va_list args;

    if (!err)
        return CW_E_INTERNAL;
    if (err->code == CW_OK)
        err->code = CW_E_INTERNAL;
    memcpy(old.msg, err->msg, sizeof(old.msg));
    va_start(args, fmt);
    size_t n = format(err->msg, sizeof(err->msg), fmt, args);
    va_end(args);
    append(err->msg, sizeof(err->msg), n, ": ");
    append(err->msg, sizeof(err->msg), strlen(err->msg), old.msg);
    return err->code;
}

const char *cw_err_name(int code)
{
    const struct code_row *row = find_row(code);

    return row ? row->name : "UNKNOWN";
}

const char *cw_err_text(int code)
{
    const struct code_row *row = find_row(code);

    return row ? row->text : "unknown error";
}

int cw_err_is_retryable(int code)
{
    const struct code_row *row = find_row(code);

    return row ? row->retry : 0;
}

bool cw_err_is_of_data(int code)
{
    return code == CW_E_INVALID || code == CW_E_CORRUPT || code == CW_E_UNSUPPORTED ||
           code == CW_E_LIMIT;
}

int cw_err_to_grpc(int code)
{
    const struct code_row *row = find_row(code);

    return row ? row->grpc : 13;
}

int cw_err_from_grpc(int status)
{
    /* If several codes share a gRPC status, the one that a peer most likely means is chosen. */
    switch (status) {
    case 8:
        return CW_E_LIMIT;
    case 13:
        return CW_E_INTERNAL;
    case 14:
        return CW_E_UNAVAILABLE;
    default:
        break;
    }
    for (int i = 0; i < CW_ORD_N; i++)
        if (rows[i].grpc == status)
            return -i;
    return CW_E_INTERNAL;
}

void cw_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "level=error mod=base msg=\"assertion failed: %s\" at=%s:%d\n", expr, file,
            line);
    abort();
}
