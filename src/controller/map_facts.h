/* SPDX-License-Identifier: Apache-2.0 */
/* The ConfigMap of a CacheBackend's name, which pods take into their environment. Pure functions. */
#ifndef CW_CONTROLLER_MAP_FACTS_H
#define CW_CONTROLLER_MAP_FACTS_H

#include "controller/controller.h"

/* A ConfigMap that the controller has made. */
struct cw_map_facts {
    char *version, *dispatcher, *tenant, *cache, *claim;
    bool is_ours;
};
struct cw_map_facts *cw_map_facts_read(const struct cw_value *object) CW_MUST_CHECK;
void cw_map_facts_free(struct cw_map_facts *map); /* accepts NULL */
/* Whether it says what the item's jobs need. facts NULL: there is none. */
enum cw_map_state cw_map_state_of(const struct cw_item *item, const struct cw_map_facts *facts);

/* The name of the cache that the item's jobs are to have; "": the dispatcher's own. The caller frees it. */
char *cw_map_cache_of(const struct cw_item *item) CW_MUST_CHECK;

#endif
