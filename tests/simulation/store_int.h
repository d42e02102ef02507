/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by store.c (what actors do) and store_world.c (what is done to the store). */
#ifndef SIM_STORE_INT_H
#define SIM_STORE_INT_H

#include "store.h"

struct sim_content {
    unsigned char *data;
    uint64_t bytes, cap;
    int refs;
};
struct sim_store_entry { /* a file */
    struct sim_store_entry *next;
    char name[SIM_STORE_NAME_BYTES];
    struct sim_content *content;
    int64_t born_ns;
    struct sim_store_file *writer; /* of a temporary one; NULL: left behind */
    bool is_temporary;
};
struct sim_store_file {
    struct sim_store_file *next;
    struct sim_actor *actor;
    struct sim_content *content;
    struct sim_store_entry *entry; /* of one that is being written */
    char name[SIM_STORE_NAME_BYTES];
    bool is_broken, is_synced;
    bool lacks; /* a write of it has failed */
};
struct sim_store {
    void (*on_chunk)(void *arg);
    void *on_chunk_arg;
    uint64_t limit, used;
    size_t written; /* files, ever */
    size_t resized; /* of these, those that replaced one of another size */
    bool maps;
    struct sim_store_entry *entries;
    struct sim_store_file *files;
    struct sim_store_seen *seen;
    struct {
        int64_t until_ns;
        const char *host; /* NULL: all */
    } troubles[SIM_TROUBLES_N];
};
struct sim_store *sim_store_state(void);
struct sim_store_entry *sim_store_find(const char *name); /* NULL: none */
void sim_store_remove_entry(struct sim_store_entry *entry);

#endif
