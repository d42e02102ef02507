/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes Leases. */
#include "kube/lease_record.h"

#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_time.h"

#define DURATION_MAX_S 3600

void cw_lease_record_fini(struct cw_lease_record *record)
{
    cw_value_fini(&record->object);
    cw_mem_free(record->holder);
    cw_mem_free(record->version);
    *record = (struct cw_lease_record){0};
}

/* Returns the object that is a member, made if there is none. */
static struct cw_value *object_in(struct cw_value *object, const char *key)
{
    struct cw_value *member = NULL;

    for (size_t i = 0; i < object->n; i++)
        if (cw_str_eq(object->keys[i], key))
            member = &object->items[i];
    if (!member || member->type != CW_VALUE_OBJECT) {
        member = cw_value_member(object, key);
        cw_value_set_object(member);
    }
    return member;
}

/* Who wrote what is none of our business, and long. */
static void drop_managed_fields(struct cw_value *object)
{
    struct cw_value *metadata = object_in(object, "metadata");

    if (cw_value_get(metadata, "managedFields"))
        (void)cw_value_member(metadata, "managedFields");
}

bool cw_lease_record_see(struct cw_lease_record *record, struct cw_value *object, int64_t now_ms)
{
    const char *holder = cw_kube_text(object, "spec.holderIdentity");
    const char *version = cw_kube_text(object, "metadata.resourceVersion");
    int64_t seconds = 0;

    if (!object ? record->object.type == CW_VALUE_NULL && record->seen_ms != 0
                : cw_str_eq(version, record->version))
        return false;
    cw_lease_record_fini(record);
    record->seen_ms = now_ms;
    if (!object)
        return true;
    if (!cw_kube_i64(object, "spec.leaseDurationSeconds", &seconds) || seconds < 0)
        seconds = 0;
    record->duration_ms = CW_MIN(seconds, (int64_t)DURATION_MAX_S) * 1000;
    record->holder = cw_mem_strdup(holder ? holder : "");
    record->version = cw_mem_strdup(version);
    record->object = *object;
    *object = (struct cw_value){0};
    drop_managed_fields(&record->object);
    return true;
}

bool cw_lease_record_is_free(const struct cw_lease_record *record, const char *me, int64_t own_ms,
                             int64_t now_ms, int64_t *ret_left_ms)
{
    int64_t duration = record->duration_ms ? record->duration_ms : own_ms;

    *ret_left_ms = 0;
    if (!record->holder || !*record->holder || cw_str_eq(record->holder, me))
        return true;
    *ret_left_ms = CW_MAX(record->seen_ms + duration - now_ms, 0);
    return *ret_left_ms == 0;
}

static void set_times(struct cw_value *spec, bool is_new_holder, int64_t wall_us)
{
    char now[CW_KUBE_TIME_BYTES];

    cw_kube_time_print_us(wall_us, now);
    cw_value_set_str(cw_value_member(spec, "renewTime"), now);
    if (is_new_holder)
        cw_value_set_str(cw_value_member(spec, "acquireTime"), now);
}

static void set_spec(const struct cw_lease_record *record, struct cw_value *spec,
                     const char *holder, int64_t duration_ms, int64_t wall_us)
{
    bool is_new_holder = *holder && !cw_str_eq(record->holder, holder);
    int64_t transitions = 0;

    (void)cw_kube_i64(&record->object, "spec.leaseTransitions", &transitions);
    if (is_new_holder && record->holder && transitions < INT32_MAX)
        transitions++;
    cw_value_set_str(cw_value_member(spec, "holderIdentity"), holder);
    /* Who gives it back makes it expire at once for those who do not look at the holder. */
    cw_value_set_i64(cw_value_member(spec, "leaseDurationSeconds"),
                     *holder ? (duration_ms + 999) / 1000 : 1);
    cw_value_set_i64(cw_value_member(spec, "leaseTransitions"), transitions);
    set_times(spec, is_new_holder, wall_us);
}

void cw_lease_record_print(const struct cw_lease_record *record, const char *name_space,
                           const char *name, const char *holder, int64_t duration_ms,
                           int64_t wall_us, struct cw_str *out)
{
    struct cw_value object = {0};

    if (record->object.type == CW_VALUE_OBJECT)
        cw_value_copy(&object, &record->object);
    else
        cw_value_set_object(&object);
    cw_value_set_str(cw_value_member(&object, "apiVersion"), "coordination.k8s.io/v1");
    cw_value_set_str(cw_value_member(&object, "kind"), "Lease");
    struct cw_value *metadata = object_in(&object, "metadata");
    cw_value_set_str(cw_value_member(metadata, "name"), name);
    cw_value_set_str(cw_value_member(metadata, "namespace"), name_space);
    set_spec(record, object_in(&object, "spec"), holder, duration_ms, wall_us);
    cw_value_print(&object, out);
    cw_value_fini(&object);
}
