/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the id of an element to the place of its record. Lookups take no lock; changes are made
 * under the lock of the dataset that the map belongs to. A map is zeroed to begin with. */
#ifndef CW_CACHE_RECORD_ID_MAP_H
#define CW_CACHE_RECORD_ID_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cw_id_table;
struct cw_id_map {
    _Atomic(struct cw_id_table *) pages; /* finds pages of neighbouring ids */
    _Atomic(struct cw_id_table *) far;   /* finds single ids, of several mixed sources */
};
/* Returns the place of an id; 0: the id is not known. */
uint64_t cw_id_map_get(const struct cw_id_map *ids, uint64_t id);
/* Sets the place of an id. Place 0 removes the id, which cannot fail. Returns false if there is no
 * memory. */
bool cw_id_map_set(struct cw_id_map *ids, uint64_t id, uint64_t place);
void cw_id_map_fini(struct cw_id_map *ids);

/* A place consists of the number of a handle plus 1 (so that it is never 0), and the number of the
 * record in that handle's chunk or write buffer. */
#define CW_PLACE_RECORD_BITS 24
static inline uint64_t cw_place(uint32_t handle, uint32_t record)
{
    return ((uint64_t)handle + 1) << CW_PLACE_RECORD_BITS | record;
}
static inline uint32_t cw_place_handle(uint64_t place)
{
    return (uint32_t)(place >> CW_PLACE_RECORD_BITS) - 1;
}
static inline uint32_t cw_place_record(uint64_t place)
{
    return (uint32_t)place & ((1u << CW_PLACE_RECORD_BITS) - 1);
}

#endif
