/* SPDX-License-Identifier: Apache-2.0 */
/* Hash maps to pointers, keyed by 64-bit numbers or by strings (which are copied), with open
 * addressing. A map is used by one thread at a time, and zero-initialised. To iterate: `for (size_t
 * i = 0; cw_map_next(&m, &i, &key, &value);)`; the entry that was just returned may be removed. */
#ifndef CW_BASE_MAP_H
#define CW_BASE_MAP_H

#include <stdbool.h>
#include "base/compiler.h"

struct cw_map_slot;
struct cw_map {
    struct cw_map_slot *slots;
    size_t n, used, cap;
};
void cw_map_fini(struct cw_map *map);      /* does not free the values */
void cw_map_fini_free(struct cw_map *map); /* Frees the values as well, with cw_mem_free. */
void *cw_map_get(const struct cw_map *map, uint64_t key);
/* Returns the former value, or NULL. */
void *cw_map_set(struct cw_map *map, uint64_t key, void *value);
void *cw_map_remove(struct cw_map *map, uint64_t key);
bool cw_map_next(const struct cw_map *map, size_t *i, uint64_t *ret_key, void **ret_value);

struct cw_strmap_slot;
struct cw_strmap {
    struct cw_strmap_slot *slots;
    size_t n, used, cap;
};
void cw_strmap_fini(struct cw_strmap *map);
void *cw_strmap_get(const struct cw_strmap *map, const char *key);
void *cw_strmap_set(struct cw_strmap *map, const char *key, void *value);
void *cw_strmap_remove(struct cw_strmap *map, const char *key);
bool cw_strmap_next(const struct cw_strmap *map, size_t *i, const char **ret_key, void **ret_value);

#endif
