/* SPDX-License-Identifier: Apache-2.0 */
#include "store_int.h"

#include <string.h>

#define CALL_NS INT64_C(300000) /* the longest */
#define SYNC_NS INT64_C(3000000)
#define SLOW_NS INT64_C(400000000)
#define BAD_READS 3 /* of so many one fails while reads do */
#define MS_NS INT64_C(1000000)

struct sim_store_seen {
    struct sim_store_seen *next;
    struct sim_actor *actor;
};

struct sim_store *sim_store_state(void)
{
    void **slot = sim_slot(SIM_SLOT_STORE);

    if (!*slot)
        *slot = sim_world_alloc(sizeof(struct sim_store));
    return *slot;
}

/* ---- contents, entries ---- */
static void drop(struct sim_content *content)
{
    if (--content->refs > 0)
        return;
    sim_world_free(content->data);
    sim_world_free(content);
}

struct sim_store_entry *sim_store_find(const char *name)
{
    struct sim_store_entry *entry = sim_store_state()->entries;

    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    return entry;
}

static void set_name(char *to, const char *name)
{
    size_t n = strlen(name) + 1;

    if (n > SIM_STORE_NAME_BYTES)
        sim_fail("the name of a file in the store is too long");
    memcpy(to, name, n);
}

static struct sim_store_entry *add_entry(const char *name)
{
    struct sim_store_entry *entry = sim_world_alloc(sizeof(*entry));

    set_name(entry->name, name);
    entry->content = sim_world_alloc(sizeof(*entry->content));
    entry->content->refs = 1;
    entry->born_ns = sim_now_ns();
    entry->next = sim_store_state()->entries;
    sim_store_state()->entries = entry;
    return entry;
}

void sim_store_remove_entry(struct sim_store_entry *entry)
{
    struct sim_store_entry **at = &sim_store_state()->entries;

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    sim_store_state()->used -= entry->content->bytes;
    if (entry->writer)
        entry->writer->entry = NULL;
    drop(entry->content);
    sim_world_free(entry);
}

/* ---- who has what open ---- */
static void end_file(struct sim_store_file *file)
{
    struct sim_store_file **at = &sim_store_state()->files;

    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    if (file->entry)
        file->entry->writer = NULL;
    drop(file->content);
    sim_world_free(file);
}

static void on_death(void *arg)
{
    struct sim_actor *actor = arg;
    struct sim_store_seen **at = &sim_store_state()->seen;

    for (struct sim_store_file *file = sim_store_state()->files, *next; file; file = next) {
        next = file->next;
        if (file->actor != actor)
            continue;
        if (file->entry)
            sim_log("%s leaves %s behind, %llu bytes", sim_name(actor), file->entry->name,
                    (unsigned long long)file->content->bytes);
        end_file(file);
    }
    while ((*at)->actor != actor)
        at = &(*at)->next;
    struct sim_store_seen *seen = *at;
    *at = seen->next;
    sim_world_free(seen);
}

static void see(struct sim_actor *actor)
{
    struct sim_store_seen *seen = sim_store_state()->seen;

    while (seen && seen->actor != actor)
        seen = seen->next;
    if (seen)
        return;
    seen = sim_world_alloc(sizeof(*seen));
    seen->actor = actor;
    seen->next = sim_store_state()->seen;
    sim_store_state()->seen = seen;
    sim_on_death(actor, on_death, actor);
}

static struct sim_store_file *new_file(struct sim_content *content, const char *name)
{
    struct sim_store_file *file = sim_world_alloc(sizeof(*file));

    see(sim_self());
    file->actor = sim_self();
    file->content = content;
    content->refs++;
    set_name(file->name, name);
    file->next = sim_store_state()->files;
    sim_store_state()->files = file;
    return file;
}

/* ---- troubles ---- */
static bool has(enum sim_trouble what)
{
    const struct sim_store *s = sim_store_state();

    return sim_now_ns() < s->troubles[what].until_ns &&
           (!s->troubles[what].host || strcmp(s->troubles[what].host, sim_host(sim_self())) == 0);
}

/* A call begins: it waits, and the store may be away. */
static enum sim_store_rc take_time(int64_t most_ns)
{
    sim_sleep_ns(sim_between(1000, has(SIM_TROUBLE_SLOW) ? SLOW_NS : most_ns));
    while (has(SIM_TROUBLE_HANGS))
        sim_sleep_ns(sim_store_state()->troubles[SIM_TROUBLE_HANGS].until_ns - sim_now_ns());
    return has(SIM_TROUBLE_AWAY) ? SIM_STORE_AWAY : SIM_STORE_OK;
}

/* The answer to what was done gets lost, if the store is away by now. */
static enum sim_store_rc answer(void)
{
    sim_sleep_ns(sim_between(1000, CALL_NS / 4));
    return has(SIM_TROUBLE_AWAY) ? SIM_STORE_AWAY : SIM_STORE_OK;
}

enum sim_store_rc sim_store_try(void)
{
    return take_time(CALL_NS);
}

/* ---- writing ---- */
static void hold(const struct sim_store_file *file, int64_t n)
{
    const struct sim_store *s = sim_store_state();

    if (!strstr(file->name, ".chunk"))
        return;
    sim_held_add(sim_self(), SIM_HELD_CHUNK, n);
    if (n > 0 && s->on_chunk)
        s->on_chunk(s->on_chunk_arg);
}

enum sim_store_rc sim_store_create(const char *temp, const char *name, struct sim_store_file **ret)
{
    enum sim_store_rc rc = take_time(CALL_NS);

    if (rc != SIM_STORE_OK)
        return rc;
    if (sim_store_find(temp))
        sim_fail("two files have the temporary name %s", temp);
    struct sim_store_entry *entry = add_entry(temp);
    struct sim_store_file *file = new_file(entry->content, name);
    entry->is_temporary = true;
    entry->writer = file;
    file->entry = entry;
    hold(file, 1);
    sim_log("store: makes %s for %s", temp, name);
    *ret = file;
    return SIM_STORE_OK;
}

/* False: it is full. */
static bool reserve(struct sim_content *content, uint64_t end)
{
    uint64_t more = end > content->bytes ? end - content->bytes : 0;

    if (more > 0 &&
        (has(SIM_TROUBLE_FULL) ||
         (sim_store_state()->limit && sim_store_state()->used + more > sim_store_state()->limit)))
        return false;
    sim_store_state()->used += more;
    if (end > content->cap) {
        uint64_t cap = end > 2 * content->cap ? end : 2 * content->cap;
        unsigned char *data = sim_world_alloc((size_t)cap);
        if (content->bytes > 0)
            memcpy(data, content->data, (size_t)content->bytes);
        sim_world_free(content->data);
        content->data = data;
        content->cap = cap;
    }
    content->bytes += more;
    return true;
}

static enum sim_store_rc write_some(struct sim_store_file *file, uint64_t at, const void *p,
                                    size_t n)
{
    enum sim_store_rc rc = take_time(CALL_NS);

    if (rc != SIM_STORE_OK)
        return rc;
    if (file->is_broken || !file->entry)
        return SIM_STORE_FAILS;
    if (!reserve(file->content, at + n))
        return SIM_STORE_FULL;
    memcpy(file->content->data + at, p, n);
    file->is_synced = false;
    return answer();
}

enum sim_store_rc sim_store_write(struct sim_store_file *file, uint64_t at, const void *p, size_t n)
{
    enum sim_store_rc rc = write_some(file, at, p, n);

    file->lacks = file->lacks || rc != SIM_STORE_OK;
    return rc;
}

enum sim_store_rc sim_store_sync(struct sim_store_file *file)
{
    enum sim_store_rc rc = take_time(SYNC_NS);

    if (rc != SIM_STORE_OK)
        return rc;
    file->is_synced = true;
    return file->is_broken || !file->entry ? SIM_STORE_FAILS : SIM_STORE_OK;
}

static void publish(struct sim_store_file *file)
{
    struct sim_store_entry *entry = file->entry, *before = sim_store_find(file->name);

    if (!file->is_synced)
        sim_fail("%s is published, and was not flushed", file->name);
    if (file->lacks)
        sim_fail("%s is published, and a write of it has failed", file->name);
    if (before) {
        sim_store_state()->resized += before->content->bytes != entry->content->bytes;
        sim_store_remove_entry(before);
    }
    set_name(entry->name, file->name);
    entry->is_temporary = false;
    entry->writer = NULL;
    file->entry = NULL;
    sim_store_state()->written++;
    sim_log("store: has %s, %llu bytes", entry->name, (unsigned long long)entry->content->bytes);
}

enum sim_store_rc sim_store_commit(struct sim_store_file *file)
{
    enum sim_store_rc rc = take_time(CALL_NS);

    if (rc == SIM_STORE_OK && (file->is_broken || !file->entry))
        rc = SIM_STORE_FAILS;
    if (rc == SIM_STORE_OK)
        publish(file);
    else if (rc == SIM_STORE_FAILS && file->entry)
        sim_store_remove_entry(file->entry);
    hold(file, -1);
    end_file(file);
    return rc == SIM_STORE_OK ? answer() : rc;
}

void sim_store_abandon(struct sim_store_file *file)
{
    enum sim_store_rc rc = take_time(CALL_NS);

    if (rc == SIM_STORE_OK && file->entry)
        sim_store_remove_entry(file->entry);
    hold(file, -1);
    end_file(file);
}

/* ---- names ---- */
enum sim_store_rc sim_store_remove(const char *name)
{
    enum sim_store_rc rc = take_time(CALL_NS);
    struct sim_store_entry *entry = sim_store_find(name);

    if (rc != SIM_STORE_OK)
        return rc;
    if (!entry)
        return SIM_STORE_NONE;
    sim_log("store: removes %s", name);
    sim_store_remove_entry(entry);
    return answer();
}

enum sim_store_rc sim_store_stat(const char *name, uint64_t *ret_bytes)
{
    enum sim_store_rc rc = take_time(CALL_NS);

    if (rc != SIM_STORE_OK)
        return rc;
    return sim_store_has(name, ret_bytes) ? SIM_STORE_OK : SIM_STORE_NONE;
}

enum sim_store_rc sim_store_space(uint64_t *ret_total, uint64_t *ret_free)
{
    enum sim_store_rc rc = take_time(CALL_NS);
    const struct sim_store *s = sim_store_state();

    if (rc != SIM_STORE_OK)
        return rc;
    if (s->limit == 0)
        return SIM_STORE_NONE;
    *ret_total = s->limit;
    *ret_free = has(SIM_TROUBLE_FULL) || s->used > s->limit ? 0 : s->limit - s->used;
    return SIM_STORE_OK;
}

struct copied {
    char name[SIM_STORE_NAME_BYTES];
    uint64_t bytes;
    int64_t age_ms;
};

static struct copied *copy_entries(size_t *ret_n)
{
    size_t n = 0;

    for (const struct sim_store_entry *entry = sim_store_state()->entries; entry;
         entry = entry->next)
        n++;
    struct copied *copies = sim_world_alloc((n + 1) * sizeof(*copies));
    *ret_n = n;
    for (const struct sim_store_entry *entry = sim_store_state()->entries; entry;
         entry = entry->next) {
        struct copied *copy = &copies[--n];
        memcpy(copy->name, entry->name, sizeof(copy->name));
        copy->bytes = entry->content->bytes;
        copy->age_ms = (sim_now_ns() - entry->born_ns) / MS_NS;
    }
    return copies;
}

enum sim_store_rc sim_store_list(sim_store_fn *fn, void *arg, int *ret)
{
    size_t n = 0;
    enum sim_store_rc rc = take_time(CALL_NS);

    *ret = 0;
    if (rc != SIM_STORE_OK)
        return rc;
    struct copied *copies = copy_entries(&n);
    for (size_t i = 0; i < n && *ret == 0 && rc == SIM_STORE_OK; i++) {
        if (i % 16 == 15)
            rc = take_time(CALL_NS);
        if (rc == SIM_STORE_OK)
            *ret = fn(arg, copies[i].name, copies[i].bytes, copies[i].age_ms);
    }
    sim_world_free(copies);
    return rc;
}

/* ---- reading ---- */
enum sim_store_rc sim_store_open(const char *name, struct sim_store_file **ret, uint64_t *ret_bytes)
{
    enum sim_store_rc rc = take_time(CALL_NS);
    const struct sim_store_entry *entry = sim_store_find(name);

    if (rc != SIM_STORE_OK)
        return rc;
    if (!entry)
        return SIM_STORE_NONE;
    *ret = new_file(entry->content, name);
    *ret_bytes = entry->content->bytes;
    return SIM_STORE_OK;
}

enum sim_store_rc sim_store_read(struct sim_store_file *file, uint64_t at, void *p, size_t n)
{
    enum sim_store_rc rc = take_time(CALL_NS);
    const struct sim_content *content = file->content;
    bool is_bad = has(SIM_TROUBLE_READS) && sim_one_in(BAD_READS);

    if (rc != SIM_STORE_OK)
        return rc;
    if (at > content->bytes || n > content->bytes - at)
        return SIM_STORE_SHORT;
    if (is_bad && sim_one_in(2))
        return SIM_STORE_FAILS;
    memcpy(p, content->data + at, n);
    if (is_bad && n > 0)
        ((unsigned char *)p)[sim_below(n)] ^= (unsigned char)(1 + sim_below(255));
    return SIM_STORE_OK;
}

const void *sim_store_map(const struct sim_store_file *file)
{
    return sim_store_state()->maps ? file->content->data : NULL;
}

void sim_store_close(struct sim_store_file *file)
{
    end_file(file);
}
