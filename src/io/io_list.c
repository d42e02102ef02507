/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of what patterns match. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/io.h"

void cw_io_list_add(struct cw_io_list *list, char *url, int64_t size, int64_t mark)
{
    CW_GROW(list->v, list->n, list->cap);
    list->v[list->n++] = (struct cw_io_found){url, size, mark};
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct cw_io_found *)a)->url, ((const struct cw_io_found *)b)->url);
}

void cw_io_list_sort(struct cw_io_list *list)
{
    size_t kept = 0;
    if (list->n < 2)
        return;
    qsort(list->v, list->n, sizeof(list->v[0]), compare);
    for (size_t i = 1; i < list->n; i++) {
        if (strcmp(list->v[i].url, list->v[kept].url) == 0)
            cw_mem_free(list->v[i].url);
        else
            list->v[++kept] = list->v[i];
    }
    list->n = kept + 1;
}

void cw_io_list_fini(struct cw_io_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        cw_mem_free(list->v[i].url);
    cw_mem_free(list->v);
    *list = (struct cw_io_list){0};
}
