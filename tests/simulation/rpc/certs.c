/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates as texts (tls_files.c), for the tests of src/rpc that run here, too. */
#include "unit/rpc/certs.h"

#include <stdio.h>

static void put(const char *dir, const char *name, const char *suffix, const char *text)
{
    char path[256], made[264];
    snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
    snprintf(made, sizeof(made), "%s.new", path);
    FILE *file = fopen(made, "w");
    if (!file)
        return;
    fputs(text, file);
    fclose(file);
    (void)rename(made, path);
}

void certs_write(const char *dir, const char *who, const char *ca, const char *names)
{
    char cert[400], key[420];
    snprintf(cert, sizeof(cert), "%s %s", ca, names);
    snprintf(key, sizeof(key), "key of %s", cert);
    put(dir, who, "crt", cert);
    put(dir, who, "key", key);
    put(dir, ca, "ca", ca);
}
