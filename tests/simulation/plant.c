/* SPDX-License-Identifier: Apache-2.0 */
#include "planted.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[SIM_PLANTED_N] = {
    [SIM_PLANTED_NONE] = "",
    [SIM_PLANTED_PROMISE] = "promise",
    [SIM_PLANTED_OUTPUT] = "output",
    [SIM_PLANTED_SYNC] = "sync",
    [SIM_PLANTED_GONE] = "gone",
    [SIM_PLANTED_BROKEN] = "broken",
    [SIM_PLANTED_WINDOW] = "window",
    [SIM_PLANTED_RETURN] = "return",
    [SIM_PLANTED_TWICE] = "twice",
    [SIM_PLANTED_AHEAD] = "ahead",
    [SIM_PLANTED_LEASED] = "leased",
    [SIM_PLANTED_BYE] = "bye",
    [SIM_PLANTED_DELETES] = "deletes",
    [SIM_PLANTED_SPARSE] = "sparse",
    [SIM_PLANTED_ACK] = "ack",
    [SIM_PLANTED_LATE] = "late",
    [SIM_PLANTED_FENCE] = "fence",
    [SIM_PLANTED_UNSYNCED] = "unsynced",
    [SIM_PLANTED_HALF] = "half",
    [SIM_PLANTED_CHECKSUM] = "checksum",
    [SIM_PLANTED_KEY] = "key",
    [SIM_PLANTED_KEPT] = "kept",
    [SIM_PLANTED_TEMP] = "temp",
    [SIM_PLANTED_STAYS] = "stays",
    [SIM_PLANTED_UNTOLD] = "untold",
    [SIM_PLANTED_LEFT] = "left",
    [SIM_PLANTED_UNCOUNTED] = "uncounted",
    [SIM_PLANTED_UNREACHED] = "unreached",
    [SIM_PLANTED_HEDGES] = "hedges",
    [SIM_PLANTED_WAITS] = "waits",
    [SIM_PLANTED_BUDGET] = "budget",
    [SIM_PLANTED_ROOM] = "room",
    [SIM_PLANTED_QUEUE] = "queue",
};
static int planted;

int sim_planted(void)
{
    return sim_seed() != 0 ? planted : SIM_PLANTED_NONE; /* not in a reference, whose seed is 0 */
}

bool sim_plant(const char *mistake)
{
    char *end;
    unsigned long number = strtoul(mistake, &end, 10);

    for (int i = 0; i < SIM_PLANTED_N; i++) {
        if ((*mistake == '\0' || *end != '\0' || number != (unsigned long)i) &&
            (i == 0 || strcmp(names[i], mistake) != 0))
            continue;
        planted = i;
        return true;
    }
    return false;
}

const char *sim_mistake_name(int mistake)
{
    return names[mistake];
}
