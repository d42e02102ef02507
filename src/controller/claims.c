/* SPDX-License-Identifier: Apache-2.0 */
/* Reads claims, and prints volumes and claims. What a pod finds below mountPath is the business of the
 * CSI driver, to which the volume's attributes name the store. */
#include "controller/claims.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/field.h"

#define LEAST_BYTES                                                                                \
    ((int64_t)1 << 30) /* what is asked for if there is no quota; nobody counts it */

struct cw_claim_facts *cw_claim_facts_read(const struct cw_value *object)
{
    const char *phase = cw_kube_text(object, "status.phase");
    const char *name = cw_kube_text(object, "metadata.name");
    size_t n = 0;
    const struct cw_value *owners = cw_kube_list(object, "metadata.ownerReferences", &n);
    struct cw_claim_facts *claim = CW_NEW(struct cw_claim_facts);
    claim->phase = cw_mem_strdup(phase ? phase : "Pending");
    claim->deleting = cw_kube_text(object, "metadata.deletionTimestamp") != NULL;
    for (size_t i = 0; i < n; i++)
        claim->is_ours =
            claim->is_ours || (cw_str_eq(cw_kube_text(&owners[i], "kind"), "CacheBackend") &&
                               cw_str_eq(cw_kube_text(&owners[i], "name"), name));
    return claim;
}

void cw_claim_facts_free(struct cw_claim_facts *claim)
{
    if (!claim)
        return;
    cw_mem_free(claim->phase);
    cw_mem_free(claim);
}

enum cw_claim_state cw_claim_state_read(const struct cw_claim_facts *facts)
{
    if (!facts->is_ours)
        return CW_CLAIM_TAKEN;
    if (facts->deleting)
        return CW_CLAIM_PENDING;
    return strcmp(facts->phase, "Bound") == 0  ? CW_CLAIM_BOUND
           : strcmp(facts->phase, "Lost") == 0 ? CW_CLAIM_LOST
                                               : CW_CLAIM_PENDING;
}

enum cw_claim_state cw_claim_state_of(const struct cw_item *item,
                                      const struct cw_claim_facts *facts)
{
    if (!item->c->options.csi_driver)
        return CW_CLAIM_UNSUPPORTED;
    return facts ? cw_claim_state_read(facts) : CW_CLAIM_NONE;
}

char *cw_claim_volume_name(const struct cw_item *item)
{
    return cw_mem_printf("cachew-%s", item->b->uid);
}

static void add(struct cw_str *json, const char *key, const char *text, bool last)
{
    cw_str_addf(json, "\"%s\":", key);
    cw_str_add_json(json, text, strlen(text));
    cw_str_add(json, last ? "" : ",");
}

static void add_size(struct cw_str *json, const char *outer, const struct cw_cachebackend *b)
{
    cw_str_addf(json, "\"%s\":{\"storage\":\"%" PRId64 "\"}", outer,
                CW_MAX(b->quota + b->source_quota, LEAST_BYTES));
}

#define MARKS                                                                                      \
    "\"labels\":{\"" CW_BACKEND_LABEL                                                              \
    "\":\"true\",\"app.kubernetes.io/managed-by\":\"cachew-controller\"}"
#define MODES "\"accessModes\":[\"ReadOnlyMany\"],\"storageClassName\":\"\","

void cw_claim_print_volume(const struct cw_item *item, struct cw_str *out)
{
    const struct cw_cachebackend *b = item->b;
    cw_autofree char *name = cw_claim_volume_name(item);
    cw_autofree char *handle = cw_mem_printf("%s/%s-%s", b->name_space, b->name, b->uid);
    cw_str_add(out, "{\"metadata\":{");
    add(out, "name", name, false);
    cw_str_add(out, MARKS "},\"spec\":{" MODES "\"persistentVolumeReclaimPolicy\":\"Retain\",");
    add_size(out, "capacity", b);
    cw_str_add(out, ",\"claimRef\":{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",");
    add(out, "namespace", b->name_space, false);
    add(out, "name", b->name, true);
    cw_str_add(out, "},\"csi\":{");
    add(out, "driver", item->c->options.csi_driver, false);
    add(out, "volumeHandle", handle, false);
    cw_str_add(out, "\"readOnly\":true,\"volumeAttributes\":{");
    add(out, "cachew.dev/store", item->place_answer.url, false);
    add(out, "cachew.dev/dispatcher", item->c->options.client_dispatcher, true);
    cw_str_add(out, "}}}}");
}

void cw_claim_print(const struct cw_item *item, struct cw_str *out)
{
    const struct cw_cachebackend *b = item->b;
    cw_autofree char *volume = cw_claim_volume_name(item);
    cw_str_add(out, "{\"metadata\":{");
    add(out, "name", b->name, false);
    cw_str_addf(out,
                MARKS ",\"ownerReferences\":[{\"apiVersion\":\"" CW_CACHEBACKEND_GROUP
                      "/" CW_CACHEBACKEND_VERSION "\",\"kind\":\"CacheBackend\",\"name\":\"%s\","
                      "\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]},"
                      "\"spec\":{" MODES,
                b->name, b->uid);
    add(out, "volumeName", volume, false);
    cw_str_add(out, "\"resources\":{");
    add_size(out, "requests", b);
    cw_str_add(out, "}}}");
}
