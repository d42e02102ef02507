/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the cache, as actors of their own. */
#ifndef SIM_ADMIN_H
#define SIM_ADMIN_H

#include "store.h"

enum sim_command { SIM_COMMAND_EVICT, SIM_COMMAND_SCAN, SIM_COMMAND_LIST };
struct sim_chunk { /* a row of the dispatcher's catalogue */
    char name[SIM_STORE_NAME_BYTES];
    uint64_t bytes;
};
struct sim_admin {
    char dispatcher[64];
    enum sim_command command;
    uint64_t bytes; /* to be evicted at least; 0 = all */
    /* what came of it */
    bool has_ended;
    int rc;
    char message[256];
    struct sim_chunk *chunks; /* listed */
    size_t chunks_n;
    uint64_t total, hits; /* as the catalogue adds them up; total: bytes */
};

#endif
