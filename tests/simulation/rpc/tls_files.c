/* SPDX-License-Identifier: Apache-2.0 */
/* In place of src/auth/tls_files.c: certificates are texts. One is "CA NAME NAME...", who signed it and
 * its DNS names; a key is "key of " and the certificate's text; a CA is its name. */
#include "auth/tls_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define KEY "key of "

static int read_text(const char *option, const char *file, char **ret_text, struct cw_err *err)
{
    char text[1024];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return cw_err_errno(err, failure, "%s %s", option, file);
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    *ret_text = cw_mem_strdup(text);
    return 0;
}

static void take_names(struct cw_tls_files *files)
{
    const char *at = files->cert + strcspn(files->cert, " ");
    files->names = CW_NEW_ARRAY(char *, strlen(at) + 1);
    for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        files->names[files->names_n++] = cw_mem_strndup(at, n);
        at += n;
    }
}

int cw_tls_files_read(const struct cw_tls_options *options, struct cw_tls_files *ret_files,
                      struct cw_err *err)
{
    struct cw_tls_files files = {0};
    int rc = read_text("--tls-cert", options->cert, &files.cert, err);
    if (rc == 0)
        rc = read_text("--tls-key", options->key, &files.key, err);
    if (rc == 0)
        rc = read_text("--tls-ca", options->ca, &files.ca, err);
    if (rc == 0 && (strncmp(files.key, KEY, strlen(KEY)) != 0 ||
                    !cw_str_eq(&files.key[strlen(KEY)], files.cert)))
        rc = cw_err_set(err, CW_E_INVALID,
                        "--tls-key %s: is not the key of the certificate in --tls-cert %s",
                        options->key, options->cert);
    if (rc == 0)
        take_names(&files);
    else
        cw_tls_files_fini(&files);
    *ret_files = files;
    return rc;
}

void cw_tls_files_fini(struct cw_tls_files *files)
{
    cw_mem_free(files->cert);
    cw_mem_free(files->key);
    cw_mem_free(files->ca);
    for (size_t i = 0; i < files->names_n; i++)
        cw_mem_free(files->names[i]);
    cw_mem_free(files->names);
    *files = (struct cw_tls_files){0};
}
