/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the cache, as actors of their own. */
#ifndef SIM_ADMIN_H
#define SIM_ADMIN_H

#include "store.h"

enum sim_command {
    SIM_COMMAND_EVICT,
    SIM_COMMAND_SCAN,
    SIM_COMMAND_LIST,
    SIM_COMMAND_REPLAN, /* of jobs: admin_replan.c */
    /* of named caches: admin_caches.c */
    SIM_COMMAND_ATTACH,
    SIM_COMMAND_DETACH,
    SIM_COMMAND_CLOSE,
    SIM_COMMAND_DESCRIBE,
    SIM_COMMAND_NOTE_SOURCE
};
struct sim_chunk { /* a row of the dispatcher's catalogue */
    char name[SIM_STORE_NAME_BYTES];
    uint64_t bytes;
};
struct sim_admin {
    char dispatcher[64];
    enum sim_command command;
    uint64_t bytes; /* to be evicted at least; 0 = all. SIM_COMMAND_REPLAN: which plans */
    /* of named caches */
    char cache[32], url[64]; /* cache: "" = the default one */
    uint64_t quota, source_quota;
    bool keep, if_closed, reopen;
    /* what came of it */
    bool has_ended;
    int rc;
    char message[256];
    struct sim_chunk *chunks; /* listed */
    size_t chunks_n;
    uint64_t total,
        hits;       /* as the catalogue adds them up; total: bytes. Or plans that were taken */
    bool is_closed; /* SIM_COMMAND_CLOSE: nobody used it */
    size_t users;   /* of these jobs: who used it; SIM_COMMAND_DETACH: who goes on without */
};

/* ---- inside of the program ---- */
struct ProtobufCMessage;
struct ProtobufCMessageDescriptor;
/* One call of the dispatcher; NULL: it failed. The caller frees the reply. */
struct ProtobufCMessage *sim_admin_ask(struct sim_admin *admin, const char *method,
                                       const struct ProtobufCMessage *request,
                                       const struct ProtobufCMessageDescriptor *type);
void sim_admin_replan(struct sim_admin *admin);
void sim_admin_attach(struct sim_admin *admin);
void sim_admin_detach(struct sim_admin *admin);
void sim_admin_close(struct sim_admin *admin);
void sim_admin_describe(struct sim_admin *admin);
void sim_admin_note_source(struct sim_admin *admin);

#endif
