/* SPDX-License-Identifier: Apache-2.0 */
/* Reads objects of Kueue. A merge patch replaces a list as a whole, so patches carry what was read, and the
 * version that it was read in. */
#include "controller/kueue_facts.h"

#include <string.h>

#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_time.h"

static char *copy(const struct cw_value *object, const char *path)
{
    const char *text = cw_kube_text(object, path);
    return cw_mem_strdup(text ? text : "");
}

static void copy_list(struct cw_value *ret, const struct cw_value *object, const char *path)
{
    const struct cw_value *list = cw_kube_field(object, path);
    if (list && list->type == CW_VALUE_LIST)
        cw_value_copy(ret, list);
}

static void put_text(struct cw_value *object, const char *key, const char *text)
{
    struct cw_value *member = cw_value_member(object, key);
    cw_value_fini(member);
    *member = (struct cw_value){0};
    cw_value_set_str(member, text);
}

static void put_time(struct cw_value *object, const char *key, int64_t now_us)
{
    char text[CW_KUBE_TIME_BYTES];
    cw_kube_time_print_s(now_us, text);
    put_text(object, key, text);
}

static void print_patch(const char *version, const char *key, const struct cw_value *list,
                        struct cw_str *out)
{
    cw_str_add(out, "{\"metadata\":{\"resourceVersion\":");
    cw_str_add_json(out, version, strlen(version));
    cw_str_addf(out, "},\"status\":{\"%s\":", key);
    cw_value_print(list, out);
    cw_str_add(out, "}}");
}

/* Makes a copy of a list with the item whose member `key` is `name`, or with a new one. */
static struct cw_value *copy_with(const struct cw_value *list, const char *key, const char *name,
                                  struct cw_value *ret_list)
{
    size_t n = list->type == CW_VALUE_LIST ? list->n : 0, at = n;
    for (size_t i = 0; i < n; i++)
        if (cw_str_eq(cw_kube_text(&list->items[i], key), name))
            at = i;
    struct cw_value *items = cw_value_set_list(ret_list, CW_MAX(n, at + 1));
    for (size_t i = 0; i < n; i++)
        cw_value_copy(&items[i], &list->items[i]);
    if (at == n)
        cw_value_set_object(&items[at]);
    put_text(&items[at], key, name);
    return &items[at];
}

/* ---- AdmissionChecks ---- */

static bool is_active(const struct cw_value *conditions)
{
    for (size_t i = 0; i < conditions->n; i++)
        if (cw_str_eq(cw_kube_text(&conditions->items[i], "type"), "Active"))
            return cw_str_eq(cw_kube_text(&conditions->items[i], "status"), "True");
    return false;
}

struct cw_admission_check *cw_admission_check_read(const struct cw_value *object)
{
    struct cw_admission_check *check = CW_NEW(struct cw_admission_check);
    check->name = copy(object, "metadata.name");
    check->version = copy(object, "metadata.resourceVersion");
    (void)cw_kube_i64(object, "metadata.generation", &check->generation);
    check->is_ours = cw_str_eq(cw_kube_text(object, "spec.controllerName"), CW_KUEUE_CONTROLLER);
    copy_list(&check->conditions, object, "status.conditions");
    check->is_active = is_active(&check->conditions);
    return check;
}

void cw_admission_check_free(struct cw_admission_check *check)
{
    if (!check)
        return;
    cw_mem_free(check->name);
    cw_mem_free(check->version);
    cw_value_fini(&check->conditions);
    cw_mem_free(check);
}

void cw_admission_check_activate(const struct cw_admission_check *check, int64_t now_us,
                                 struct cw_str *out)
{
    struct cw_value list = {0};
    struct cw_value *condition = copy_with(&check->conditions, "type", "Active", &list);
    put_text(condition, "status", "True");
    put_text(condition, "reason", "Active");
    put_text(condition, "message", "cachew-controller answers it");
    put_time(condition, "lastTransitionTime", now_us);
    struct cw_value *generation = cw_value_member(condition, "observedGeneration");
    cw_value_fini(generation);
    *generation = (struct cw_value){0};
    cw_value_set_i64(generation, check->generation);
    print_patch(check->version, "conditions", &list, out);
    cw_value_fini(&list);
}

/* ---- Workloads ---- */

/* The owner that controls it, or else the first one: a group of pods has several. */
static const struct cw_value *owner_of(const struct cw_value *object)
{
    size_t n = 0;
    const struct cw_value *owners = cw_kube_list(object, "metadata.ownerReferences", &n);
    for (size_t i = 0; i < n; i++) {
        const struct cw_value *controls = cw_kube_field(&owners[i], "controller");
        if (controls && controls->type == CW_VALUE_BOOL && controls->b)
            return &owners[i];
    }
    return n > 0 ? &owners[0] : NULL;
}

struct cw_workload *cw_workload_read(const struct cw_value *object)
{
    const struct cw_value *owner = owner_of(object);
    struct cw_workload *workload = CW_NEW(struct cw_workload);
    workload->name_space = copy(object, "metadata.namespace");
    workload->name = copy(object, "metadata.name");
    workload->uid = copy(object, "metadata.uid");
    workload->version = copy(object, "metadata.resourceVersion");
    workload->kind = copy(owner, "kind");
    workload->owner = copy(owner, "name");
    workload->owner_uid = copy(owner, "uid");
    copy_list(&workload->checks, object, "status.admissionChecks");
    return workload;
}

void cw_workload_free(struct cw_workload *workload)
{
    if (!workload)
        return;
    char *const texts[] = {workload->name_space, workload->name, workload->uid,
                           workload->version,    workload->kind, workload->owner,
                           workload->owner_uid};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free(texts[i]);
    cw_value_fini(&workload->checks);
    cw_mem_free(workload);
}

bool cw_workload_waits(const struct cw_workload *workload, const char *check)
{
    for (size_t i = 0; i < workload->checks.n; i++)
        if (cw_str_eq(cw_kube_text(&workload->checks.items[i], "name"), check))
            return !cw_str_eq(cw_kube_text(&workload->checks.items[i], "state"), "Ready");
    return false;
}

void cw_workload_answer(const struct cw_workload *workload, const char *check, const char *message,
                        int64_t now_us, struct cw_str *out)
{
    struct cw_value list = {0};
    struct cw_value *state = copy_with(&workload->checks, "name", check, &list);
    put_text(state, "state", "Ready");
    put_text(state, "message", message);
    put_time(state, "lastTransitionTime", now_us);
    print_patch(workload->version, "admissionChecks", &list, out);
    cw_value_fini(&list);
}
