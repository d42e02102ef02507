/* SPDX-License-Identifier: Apache-2.0 */
/* The program cachew-sandbox: puts itself under the rules of sandbox.h, and becomes another program.
 * A worker starts it for functions of users; its command line is no promise:
 *   cachew-sandbox MEMORY on|off [READABLE...] -- PROGRAM [ARGUMENT...]
 * The program gets an empty environment, and the descriptors that are open. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/sandbox.h"

/* Where shared libraries lie, and what the C library reads. */
static const char *const libraries[] = {
    "/lib",           "/lib64",           "/usr/lib",       "/usr/lib64",
    "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"};
#define READABLE_MAX 128

static int restrict_self(char **readable, size_t n, const char *program, struct cw_err *err)
{
    const char *reads[READABLE_MAX + CW_ARRAY_LEN(libraries) + 1] = {0};
    const char *const programs[] = {program, "/lib64/ld-linux-x86-64.so.2",
                                    "/lib/ld-linux-aarch64.so.1", NULL};
    for (size_t i = 0; i < n; i++)
        reads[i] = readable[i];
    memcpy(reads + n, libraries, sizeof(libraries));
    int rc = cw_sandbox_restrict_files(reads, programs, err);
    return rc == 0 ? cw_sandbox_restrict_calls(err) : rc;
}

int main(int argc, char **argv)
{
    static char *const nothing[] = {NULL};
    struct cw_err err = {0};
    int split = 3;
    while (split < argc && strcmp(argv[split], "--") != 0)
        split++;
    if (split + 1 >= argc || split - 3 > READABLE_MAX) {
        fprintf(stderr, "cachew-sandbox: MEMORY on|off [READABLE...] -- PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    int rc = cw_sandbox_limit(strtoull(argv[1], NULL, 10), &err);
    if (rc == 0 && strcmp(argv[2], "off") != 0)
        rc = restrict_self(argv + 3, (size_t)(split - 3), argv[split + 1], &err);
    if (rc == 0) {
        execve(argv[split + 1], argv + split + 1, nothing);
        rc = cw_err_errno(&err, errno, "cannot execute %s", argv[split + 1]);
    }
    fprintf(stderr, "cachew-sandbox: %s\n", err.msg);
    return 1;
}
