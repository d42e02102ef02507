/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the URL of a store, and two lines as two of them. Nothing is opened. */
#include <string.h>

#include "base/mem.h"
#include "cache/store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *first = cw_mem_strndup((const char *)data, n), *second = strchr(first, '\n');
    struct cw_err err = {0};
    if (second)
        *second++ = '\0';
    if (cw_store_url_check(first, &err) == 0) {
        CW_ASSERT(cw_store_has_scheme(first) && strlen(first) < CW_STORE_URL_MAX);
        CW_ASSERT(cw_store_urls_overlap(first, first));
    } else {
        CW_ASSERT(err.msg[0] != '\0');
    }
    if (second)
        CW_ASSERT(cw_store_urls_overlap(first, second) == cw_store_urls_overlap(second, first));
    cw_mem_free(first);
    return 0;
}
