/* SPDX-License-Identifier: Apache-2.0 */
#include "certs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http_server.h"

#define CAS 4

/* The CAs of this process, by name. */
static struct {
    char name[32];
    struct test_ca *ca;
} cas[CAS];

static struct test_ca *ca_of(const char *name)
{
    size_t i = 0;
    while (i < CAS && cas[i].ca && strcmp(cas[i].name, name) != 0)
        i++;
    assert_true(i < CAS);
    if (!cas[i].ca) {
        snprintf(cas[i].name, sizeof(cas[i].name), "%s", name);
        cas[i].ca = test_ca_new(name);
    }
    return cas[i].ca;
}

/* Puts the file there in one step, as whoever replaces certificates should. */
static void put(const char *dir, const char *name, const char *suffix, const char *text)
{
    char path[256], made[264];
    snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix);
    snprintf(made, sizeof(made), "%s.new", path);
    FILE *file = fopen(made, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(rename(made, path), 0);
}

void certs_write(const char *dir, const char *who, const char *ca, const char *names)
{
    char san[512] = "", copy[256];
    char *cert, *key, *save = NULL;
    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        size_t n = strlen(san);
        snprintf(&san[n], sizeof(san) - n, "%sDNS:%s", n > 0 ? "," : "", name);
    }
    test_ca_sign_names(ca_of(ca), san, -1, 2, &cert, &key);
    char *text = test_ca_text(ca_of(ca));
    put(dir, who, "crt", cert);
    put(dir, who, "key", key);
    put(dir, ca, "ca", text);
    free(cert);
    free(key);
    free(text);
}
