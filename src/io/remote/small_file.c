/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/small_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define BYTES_MAX ((size_t)1 << 20)

int cw_small_file_read(const char *path, struct cw_str *ret_text, struct cw_err *err)
{
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "re");
    if (!file)
        return cw_err_errno(err, errno, "%s", path);
    while ((n = fread(part, 1, sizeof(part), file)) > 0 && ret_text->len <= BYTES_MAX)
        cw_str_add_bytes(ret_text, part, n);
    int failure = ferror(file) ? errno : 0;
    (void)fclose(file);
    explicit_bzero(part, sizeof(part));
    if (failure)
        return cw_err_errno(err, failure, "%s", path);
    if (ret_text->len > BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: is longer than %zu bytes", path, BYTES_MAX);
    return 0;
}

void cw_small_file_forget(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    cw_mem_free(text);
}
