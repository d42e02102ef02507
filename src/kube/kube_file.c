/* SPDX-License-Identifier: Apache-2.0 */
/* Small files and encoded texts. */
#include "kube/kube_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define TOKEN_MAX ((size_t)64 << 10)

void cw_kube_forget(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    cw_mem_free(text);
}

/* Returns the number of bytes, or -1 with errno. */
static ssize_t read_all(int fd, char *bytes, size_t max)
{
    size_t n = 0;

    while (n < max) {
        ssize_t got = read(fd, bytes + n, max - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

int cw_kube_file_read(const char *path, size_t max, char **ret_text, struct cw_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO has nothing to say */

    if (fd < 0)
        return cw_err_errno(err, errno, "cannot open %s", path);
    char *text = cw_mem_new(max + 2);
    ssize_t n = read_all(fd, text, max + 1);
    int failure = errno, rc = CW_OK;
    close(fd);
    if (n < 0)
        rc = cw_err_errno(err, failure, "cannot read %s", path);
    else if ((size_t)n > max)
        rc = cw_err_set(err, CW_E_LIMIT, "%s is longer than %zu bytes", path, max);
    else if (strlen(text) != (size_t)n)
        rc = cw_err_set(err, CW_E_INVALID, "%s holds a zero byte", path);
    if (rc == CW_OK)
        *ret_text = cw_mem_strdup(text);
    explicit_bzero(text, max + 1);
    cw_mem_free(text);
    return rc;
}

static int sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

int cw_kube_base64(const char *text, char **ret_text, struct cw_err *err)
{
    char *out = cw_mem_new(strlen(text) / 4 * 3 + 4);
    size_t n = 0, digits = 0, padding = 0;
    uint32_t bits = 0;
    bool good = true;

    for (; *text && good; text++) {
        if (*text == '\n' || *text == '\r')
            continue;
        int six = *text == '=' ? 0 : sextet(*text);
        good = six >= 0 && (*text == '=' || padding == 0);
        padding += *text == '=' ? 1 : 0;
        bits = bits << 6 | (uint32_t)(six & 63);
        if (++digits % 4 != 0)
            continue;
        out[n++] = (char)(bits >> 16 & 255);
        out[n++] = (char)(bits >> 8 & 255);
        out[n++] = (char)(bits & 255);
    }
    n -= CW_MIN(padding, n);
    out[n] = '\0';
    if (good && digits % 4 == 0 && padding <= 2 && strlen(out) == n) {
        *ret_text = out;
        return CW_OK;
    }
    cw_kube_forget(out);
    return cw_err_set(err, CW_E_INVALID, "it is no base64 of a text");
}

int cw_kube_token_check(char *token, struct cw_err *err)
{
    size_t n = strlen(token);

    while (n > 0 && strchr(" \t\r\n", token[n - 1]))
        token[--n] = '\0';
    if (n == 0 || n > TOKEN_MAX)
        return cw_err_set(err, CW_E_INVALID, "a token has 1 to %zu characters, this one has %zu",
                          TOKEN_MAX, n);
    for (size_t i = 0; i < n; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return cw_err_set(err, CW_E_INVALID,
                              "a token consists of printable ASCII characters without spaces");
    return CW_OK;
}
