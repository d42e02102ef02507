/* SPDX-License-Identifier: Apache-2.0 */
/* A Lease as it was last seen, and the texts that are written over it. Pure functions. */
#ifndef CW_KUBE_LEASE_RECORD_H
#define CW_KUBE_LEASE_RECORD_H

#include "conf/value.h"

struct cw_lease_record {
    struct cw_value object; /* as it was seen; all of it is written back. Null: there is none */
    char *holder;           /* "": nobody */
    char *version;
    int64_t duration_ms; /* as its holder wrote it; 0: nothing that makes sense */
    int64_t seen_ms;     /* when it was first seen like this, on the own clock */
};
/* Takes what was seen, unless it has the version that is known. object may be emptied; NULL: there is
 * no Lease. Returns whether it was another one. */
bool cw_lease_record_see(struct cw_lease_record *record, struct cw_value *object, int64_t now_ms);
void cw_lease_record_fini(struct cw_lease_record *record);
/* Whether it may be taken: there is none, nobody holds it, `me` does, or its holder has not written
 * for its duration (own_ms where it says none) by the own clock. If not, ret_left_ms tells how long
 * that takes at least. */
bool cw_lease_record_is_free(const struct cw_lease_record *record, const char *me, int64_t own_ms,
                             int64_t now_ms, int64_t *ret_left_ms);
/* Prints what is to be written: held by `holder` ("" gives it back) from now on. It has the version
 * that was seen, so the server refuses it if somebody else wrote. wall_us is for people. */
void cw_lease_record_print(const struct cw_lease_record *record, const char *name_space,
                           const char *name, const char *holder, int64_t duration_ms,
                           int64_t wall_us, struct cw_str *out);

#endif
