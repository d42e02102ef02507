/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of CacheBackends with a mountPath: a PersistentVolume of a CSI driver, made by hand as it were
 * (static), and the claim of the CacheBackend's name that is bound to it. */
#ifndef CW_CONTROLLER_CLAIMS_H
#define CW_CONTROLLER_CLAIMS_H

#include "controller/controller.h"

/* A claim that the controller has made. */
struct cw_claim_facts {
    char *phase; /* "Pending", "Bound", "Lost" */
    bool is_ours, deleting;
};
struct cw_claim_facts *cw_claim_facts_read(const struct cw_value *object) CW_MUST_CHECK;
void cw_claim_facts_free(struct cw_claim_facts *claim); /* accepts NULL */
enum cw_claim_state cw_claim_state_read(const struct cw_claim_facts *facts);
/* The same for an item, whose claim may not be there. */
enum cw_claim_state cw_claim_state_of(const struct cw_item *item,
                                      const struct cw_claim_facts *facts);

/* The bodies of the two objects. */
void cw_claim_print_volume(const struct cw_item *item, struct cw_str *out);
void cw_claim_print(const struct cw_item *item, struct cw_str *out);
/* The volume's name, which no other one ever has; the caller frees it. */
char *cw_claim_volume_name(const struct cw_item *item) CW_MUST_CHECK;

#endif
