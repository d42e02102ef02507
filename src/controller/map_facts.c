/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ConfigMaps of CacheBackends. */
#include "controller/map_facts.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/field.h"

static char *datum(const struct cw_value *object, const char *name)
{
    const char *text = cw_kube_text(cw_kube_field(object, "data"), name);
    return cw_mem_strdup(text ? text : "");
}

/* Its owner is a CacheBackend of its name. */
static bool is_ours(const struct cw_value *object)
{
    size_t n = 0;
    const struct cw_value *owners = cw_kube_list(object, "metadata.ownerReferences", &n);
    for (size_t i = 0; i < n; i++)
        if (cw_str_eq(cw_kube_text(&owners[i], "kind"), "CacheBackend") &&
            cw_str_eq(cw_kube_text(&owners[i], "name"), cw_kube_text(object, "metadata.name")))
            return true;
    return false;
}

struct cw_map_facts *cw_map_facts_read(const struct cw_value *object)
{
    const char *version = cw_kube_text(object, "metadata.resourceVersion");
    struct cw_map_facts *map = CW_NEW(struct cw_map_facts);
    map->version = cw_mem_strdup(version ? version : "");
    map->dispatcher = datum(object, "CACHEW_DISPATCHER");
    map->tenant = datum(object, "CACHEW_TENANT");
    map->cache = datum(object, "CACHEW_CACHE");
    map->claim = datum(object, "CACHEW_CLAIM");
    map->is_ours = is_ours(object);
    return map;
}

void cw_map_facts_free(struct cw_map_facts *map)
{
    if (!map)
        return;
    cw_mem_free(map->version);
    cw_mem_free(map->dispatcher);
    cw_mem_free(map->tenant);
    cw_mem_free(map->cache);
    cw_mem_free(map->claim);
    cw_mem_free(map);
}

char *cw_map_cache_of(const struct cw_item *item)
{
    return item->place_answer.url[0] != '\0' ? cw_cachebackend_cache_name(item->b)
                                             : cw_mem_strdup("");
}

enum cw_map_state cw_map_state_of(const struct cw_item *item, const struct cw_map_facts *facts)
{
    cw_autofree char *cache = cw_map_cache_of(item);
    if (!facts)
        return cw_clock_wall_ms() < item->map_taken_ms ? CW_MAP_TAKEN : CW_MAP_NONE;
    if (!facts->is_ours)
        return CW_MAP_TAKEN;
    bool right = strcmp(facts->dispatcher, item->c->options.client_dispatcher) == 0 &&
                 strcmp(facts->tenant, item->b->name_space) == 0 &&
                 strcmp(facts->cache, cache) == 0 &&
                 strcmp(facts->claim, item->b->mount_path ? item->b->name : "") == 0;
    return right ? CW_MAP_RIGHT : CW_MAP_WRONG;
}
