/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table with linear probing; its size is a power of two, and at most 3/4 of its slots are
 * used, including graves (slots of removed entries). */
#include "base/map.h"

#include "base/hash.h"
#include "base/map_int.h"
#include "base/mem.h"

enum slot_state { SLOT_FREE, SLOT_FULL, SLOT_GRAVE };

struct cw_map_slot {
    uint64_t key;
    void *value;
    enum slot_state state;
};

void cw_map_fini(struct cw_map *map)
{
    if (!map)
        return;
    cw_mem_free(map->slots);
    *map = (struct cw_map){0};
}

void cw_map_fini_free(struct cw_map *map)
{
    uint64_t key;
    void *value;

    for (size_t i = 0; cw_map_next(map, &i, &key, &value);)
        cw_mem_free(value);
    cw_map_fini(map);
}

static struct cw_map_slot *find(const struct cw_map *map, uint64_t key)
{
    if (!map->cap)
        return NULL;
    for (size_t i = cw_mix64(key) & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        struct cw_map_slot *slot = &map->slots[i];

        if (slot->state == SLOT_FREE)
            return NULL;
        if (slot->state == SLOT_FULL && slot->key == key)
            return slot;
    }
}

static void insert(struct cw_map *map, uint64_t key, void *value)
{
    size_t i = cw_mix64(key) & (map->cap - 1);

    while (map->slots[i].state == SLOT_FULL)
        i = (i + 1) & (map->cap - 1);
    map->used += map->slots[i].state == SLOT_FREE;
    map->slots[i] = (struct cw_map_slot){key, value, SLOT_FULL};
    map->n++;
}

static void make_room(struct cw_map *map)
{
    struct cw_map old = *map;
    size_t cap = cw_map_slots_for(old.n);

    if (cw_map_has_room(old.used, old.cap))
        return;
    *map = (struct cw_map){.slots = CW_NEW_ARRAY(struct cw_map_slot, cap), .cap = cap};
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].state == SLOT_FULL)
            insert(map, old.slots[i].key, old.slots[i].value);
    cw_mem_free(old.slots);
}

void *cw_map_get(const struct cw_map *map, uint64_t key)
{
    const struct cw_map_slot *slot = find(map, key);

    return slot ? slot->value : NULL;
}

void *cw_map_set(struct cw_map *map, uint64_t key, void *value)
{
    struct cw_map_slot *slot = find(map, key);

    if (slot) {
        void *former = slot->value;
        slot->value = value;
        return former;
    }
    make_room(map);
    insert(map, key, value);
    return NULL;
}

void *cw_map_remove(struct cw_map *map, uint64_t key)
{
    struct cw_map_slot *slot = find(map, key);

    if (!slot)
        return NULL;
    slot->state = SLOT_GRAVE;
    map->n--;
    return slot->value;
}

bool cw_map_next(const struct cw_map *map, size_t *i, uint64_t *ret_key, void **ret_value)
{
    while (*i < map->cap) {
        const struct cw_map_slot *slot = &map->slots[(*i)++];

        if (slot->state != SLOT_FULL)
            continue;
        if (ret_key)
            *ret_key = slot->key;
        if (ret_value)
            *ret_value = slot->value;
        return true;
    }
    return false;
}
