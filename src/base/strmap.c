/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table like that of map.c, with copied strings as keys; a grave has no key. */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/map_int.h"
#include "base/mem.h"

struct cw_strmap_slot {
    char *key; /* owned; NULL: the slot is free, or a grave */
    void *value;
    uint64_t hash;
    bool used; /* the slot has an entry, or is a grave */
};

void cw_strmap_fini(struct cw_strmap *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->cap; i++)
        cw_mem_free(map->slots[i].key);
    cw_mem_free(map->slots);
    *map = (struct cw_strmap){0};
}

static struct cw_strmap_slot *find(const struct cw_strmap *map, const char *key, uint64_t hash)
{
    if (!map->cap)
        return NULL;
    for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        struct cw_strmap_slot *slot = &map->slots[i];

        if (!slot->used)
            return NULL;
        if (slot->key && slot->hash == hash && strcmp(slot->key, key) == 0)
            return slot;
    }
}

/* Takes the key. */
static void insert(struct cw_strmap *map, char *key, uint64_t hash, void *value)
{
    size_t i = hash & (map->cap - 1);

    while (map->slots[i].key)
        i = (i + 1) & (map->cap - 1);
    map->used += !map->slots[i].used;
    map->slots[i] = (struct cw_strmap_slot){key, value, hash, true};
    map->n++;
}

static void make_room(struct cw_strmap *map)
{
    struct cw_strmap old = *map;
    size_t cap = cw_map_slots_for(old.n);

    if (cw_map_has_room(old.used, old.cap))
        return;
    *map = (struct cw_strmap){.slots = CW_NEW_ARRAY(struct cw_strmap_slot, cap), .cap = cap};
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].key)
            insert(map, old.slots[i].key, old.slots[i].hash, old.slots[i].value);
    cw_mem_free(old.slots);
}

void *cw_strmap_get(const struct cw_strmap *map, const char *key)
{
    const struct cw_strmap_slot *slot = find(map, key, cw_hash_u64(key, strlen(key)));

    return slot ? slot->value : NULL;
}

void *cw_strmap_set(struct cw_strmap *map, const char *key, void *value)
{
    uint64_t hash = cw_hash_u64(key, strlen(key));
    struct cw_strmap_slot *slot = find(map, key, hash);

    if (slot) {
        void *former = slot->value;
        slot->value = value;
        return former;
    }
    make_room(map);
    insert(map, cw_mem_strdup(key), hash, value);
    return NULL;
}

void *cw_strmap_remove(struct cw_strmap *map, const char *key)
{
    struct cw_strmap_slot *slot = find(map, key, cw_hash_u64(key, strlen(key)));

    if (!slot)
        return NULL;
    cw_mem_free(slot->key);
    slot->key = NULL;
    map->n--;
    return slot->value;
}

bool cw_strmap_next(const struct cw_strmap *map, size_t *i, const char **ret_key, void **ret_value)
{
    while (*i < map->cap) {
        const struct cw_strmap_slot *slot = &map->slots[(*i)++];

        if (!slot->key)
            continue;
        if (ret_key)
            *ret_key = slot->key;
        if (ret_value)
            *ret_value = slot->value;
        return true;
    }
    return false;
}
