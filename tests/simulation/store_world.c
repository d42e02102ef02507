/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the store, and what is in it: in the world's context. */
#include "store_int.h"

#include <string.h>

#define MARKER "/cachew-owner" /* CW_ENGINE_MARKER of the controller */

static const char *const troubles[] = {
    [SIM_TROUBLE_AWAY] = "away", [SIM_TROUBLE_HANGS] = "hanging", [SIM_TROUBLE_SLOW] = "slow",
    [SIM_TROUBLE_FULL] = "full", [SIM_TROUBLE_READS] = "failing",
};

void sim_store_begin(uint64_t limit, bool maps)
{
    sim_store_state()->limit = limit;
    sim_store_state()->maps = maps;
}

void sim_store_on_chunk(void (*fn)(void *arg), void *arg)
{
    sim_store_state()->on_chunk = fn;
    sim_store_state()->on_chunk_arg = arg;
}

void sim_store_trouble(enum sim_trouble what, const char *host, int64_t until_ns)
{
    struct sim_store *s = sim_store_state();

    sim_log("the store is %s for %s", troubles[what], host ? host : "all");
    s->troubles[what].until_ns = until_ns;
    s->troubles[what].host = host;
    for (struct sim_store_file *file = s->files; what == SIM_TROUBLE_AWAY && file;
         file = file->next)
        if (!host || strcmp(host, sim_host(file->actor)) == 0)
            file->is_broken = true;
}

void sim_store_make_whole(void)
{
    for (size_t i = 0; i < SIM_TROUBLES_N; i++)
        sim_store_state()->troubles[i].until_ns = 0;
}

/* A mapped file is compared with its checksums once: so what somebody has open stays as it is. And
 * without the marker of a CacheBackend its files stay for ever, which is meant so: another's may lie there. */
static bool may_be_harmed(const struct sim_store_entry *entry)
{
    return !entry->is_temporary && entry->content->bytes > 0 && !strstr(entry->name, MARKER) &&
           (!sim_store_state()->maps || entry->content->refs == 1);
}

static struct sim_store_entry *choose(uint64_t which)
{
    size_t n = 0;

    for (struct sim_store_entry *entry = sim_store_state()->entries; entry; entry = entry->next)
        n += may_be_harmed(entry);
    size_t at = n ? (size_t)(which % n) : 0;
    for (struct sim_store_entry *entry = sim_store_state()->entries; entry; entry = entry->next)
        if (may_be_harmed(entry) && at-- == 0)
            return entry;
    return NULL;
}

bool sim_store_damage(uint64_t which)
{
    struct sim_store_entry *entry = choose(which);

    if (!entry)
        return false;
    struct sim_content *content = entry->content;
    uint64_t at = which / 7 % content->bytes;
    sim_log("store: byte %llu of %s is %s", (unsigned long long)at, entry->name,
            which % 4 ? "another" : "its end");
    if (which % 4) {
        content->data[at] ^= (unsigned char)(1 + which / 4 % 255);
        return true;
    }
    sim_store_state()->used -= content->bytes - at;
    content->bytes = at;
    return true;
}

bool sim_store_lose(uint64_t which)
{
    struct sim_store_entry *entry = choose(which);

    if (!entry)
        return false;
    sim_log("store: somebody removes %s", entry->name);
    sim_store_remove_entry(entry);
    return true;
}

void sim_store_age(int64_t ms)
{
    for (struct sim_store_entry *entry = sim_store_state()->entries; entry; entry = entry->next)
        entry->born_ns -= ms * INT64_C(1000000);
}

struct sim_store_count sim_store_count(const char *place)
{
    struct sim_store_count count = {.written = sim_store_state()->written,
                                    .resized = sim_store_state()->resized};

    for (const struct sim_store_entry *entry = sim_store_state()->entries; entry;
         entry = entry->next) {
        if (place && strncmp(entry->name, place, strlen(place)) != 0)
            continue;
        count.files += !entry->is_temporary;
        count.left += entry->is_temporary && !entry->writer;
        count.open += entry->writer != NULL;
        count.bytes += entry->is_temporary ? 0 : entry->content->bytes;
    }
    return count;
}

bool sim_store_has(const char *name, uint64_t *ret_bytes)
{
    const struct sim_store_entry *entry = sim_store_find(name);

    if (entry)
        *ret_bytes = entry->content->bytes;
    return entry != NULL;
}

const char *sim_store_any(void)
{
    return sim_store_state()->entries ? sim_store_state()->entries->name : NULL;
}
