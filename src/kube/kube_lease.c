/* SPDX-License-Identifier: Apache-2.0 */
/* The elector. A watch tells what others write; every write of ours is one request. */
#include "kube/kube_lease.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_watch.h"
#include "kube/lease_record.h"

#define DURATION_MS 15000
#define RENEW_MS 2000
#define GIVE_UP_MS 10000

static const struct cw_kube_kind leases = {"coordination.k8s.io", "v1", "leases"};

enum state { LOOKS, HOLDS, LOST, GIVES_BACK };

struct cw_kube_lease {
    struct cw_kube *kube;
    struct cw_kube_lease_options options; /* its texts are copies */
    struct cw_kube_lease_events events;
    char *name_space, *name, *identity, *told_holder;
    enum state state;
    struct cw_lease_record record;
    bool listed; /* the record is what there is */
    struct cw_kube_watch *watch;
    struct cw_kube_call *call;
    int64_t asked_ms, holds_until_ms; /* the present call; boot clock */
    struct cw_timer *next;            /* the next try, or the end of one that takes too long */
    struct cw_timer *end;             /* leading ends */
    bool gave_back;                   /* the request that does has been sent */
    cw_loop_fn *done;
    void *done_arg;
};

static void write_lease(struct cw_kube_lease *lease);
static void send_lease(struct cw_kube_lease *lease, const char *holder);
static void read_lease(struct cw_kube_lease *lease);

static struct cw_kube_target target_of(const struct cw_kube_lease *lease, bool named)
{
    return (struct cw_kube_target){&leases, lease->name_space, named ? lease->name : NULL, NULL};
}

static void lose(struct cw_kube_lease *lease, const char *why)
{
    struct cw_err err = {0};

    cw_kube_call_cancel(lease->call);
    lease->call = NULL;
    lease->state = LOST;
    cw_timer_stop(lease->next);
    cw_timer_stop(lease->end);
    cw_err_set(&err, CW_E_STATE, "the lease %s/%s %s%s", lease->name_space, lease->name, why,
               lease->record.holder && !cw_str_eq(lease->record.holder, lease->identity)
                   ? lease->record.holder
                   : "");
    lease->events.lost(lease->events.arg, &err);
}

static void on_end(void *arg)
{
    lose(arg, "could not be renewed in time");
}

static void tell_holder(struct cw_kube_lease *lease)
{
    const char *holder = lease->record.holder ? lease->record.holder : "";

    if (!lease->events.held || cw_str_eq(holder, lease->told_holder) ||
        cw_str_eq(holder, lease->identity))
        return;
    cw_mem_free(lease->told_holder);
    lease->told_holder = cw_mem_strdup(holder);
    lease->events.held(lease->events.arg, holder);
}

/* Takes the Lease if it may, or comes back when it might. */
static void consider(struct cw_kube_lease *lease)
{
    int64_t left_ms;

    if (lease->state != LOOKS || !lease->listed || lease->call)
        return;
    if (cw_lease_record_is_free(&lease->record, lease->identity, lease->options.duration_ms,
                                cw_clock_boot_ms(), &left_ms))
        write_lease(lease);
    else
        cw_timer_start(lease->next, left_ms, 0);
}

/* What was seen, whoever told it. */
static void see(struct cw_kube_lease *lease, struct cw_value *object)
{
    if (!cw_lease_record_see(&lease->record, object, cw_clock_boot_ms()))
        return;
    if (lease->state == LOOKS)
        tell_holder(lease);
    else if (lease->state == HOLDS && !cw_str_eq(lease->record.holder, lease->identity))
        lose(lease, lease->record.holder ? "was taken by " : "was deleted");
}

static void fail(struct cw_kube_lease *lease, const struct cw_err *err)
{
    if (lease->events.failed)
        lease->events.failed(lease->events.arg, err);
}

/* ---- requests ---- */

static void finish(struct cw_kube_lease *lease)
{
    cw_timer_stop(lease->next);
    lease->state = LOST;
    lease->done(lease->done_arg);
}

/* Gives it back as it is known now, or it is done. */
static void give_back(struct cw_kube_lease *lease)
{
    if (lease->gave_back || !cw_str_eq(lease->record.holder, lease->identity)) {
        finish(lease);
        return;
    }
    lease->gave_back = true;
    send_lease(lease, "");
}

/* An answer without a version could not be written over safely. */
static int check_answer(const struct cw_kube_answer *answer, struct cw_err *ret_err)
{
    *ret_err = *answer->err;
    if (answer->code == CW_OK && (!cw_kube_text(answer->object, "metadata.resourceVersion") ||
                                  !cw_str_eq(cw_kube_text(answer->object, "kind"), "Lease")))
        cw_err_set(ret_err, CW_E_CORRUPT, "the API server answers with what is no Lease");
    return ret_err->code;
}

/* The Lease was written. It counts from when that was asked for, which may be too long ago. */
static void become(struct cw_kube_lease *lease)
{
    bool is_new = lease->state == LOOKS;
    int64_t until_ms = lease->asked_ms + lease->options.give_up_ms;

    cw_timer_start(lease->next, lease->options.renew_ms, 0);
    if (cw_clock_boot_ms() >= until_ms)
        return;
    lease->state = HOLDS;
    lease->holds_until_ms = until_ms;
    cw_timer_start(lease->end, until_ms - cw_clock_boot_ms(), 0);
    if (is_new)
        lease->events.taken(lease->events.arg);
}

static void on_written(void *arg, struct cw_kube_answer *answer)
{
    struct cw_kube_lease *lease = arg;
    enum cw_kube_reason reason = answer->status.reason;
    struct cw_err err;
    int code = check_answer(answer, &err);

    lease->call = NULL;
    if (code == CW_OK)
        (void)cw_lease_record_see(&lease->record, answer->object, cw_clock_boot_ms());
    if (lease->state == GIVES_BACK) {
        give_back(lease);
        return;
    }
    if (code == CW_OK) {
        become(lease);
        return;
    }
    fail(lease, &err);
    /* Somebody else wrote; or our own write came through although its answer did not. */
    if (reason == CW_KUBE_Conflict || reason == CW_KUBE_AlreadyExists || reason == CW_KUBE_NotFound)
        read_lease(lease);
    else
        cw_timer_start(lease->next, lease->options.renew_ms, 0);
}

static void on_read(void *arg, struct cw_kube_answer *answer)
{
    struct cw_kube_lease *lease = arg;
    bool is_gone = answer->status.reason == CW_KUBE_NotFound;
    struct cw_err err;
    int code = check_answer(answer, &err);

    lease->call = NULL;
    if (code != CW_OK && !is_gone) {
        fail(lease, &err);
        cw_timer_start(lease->next, lease->options.renew_ms, 0);
        return;
    }
    see(lease, is_gone ? NULL : answer->object);
    if (lease->state == HOLDS)
        write_lease(lease); /* it is still ours */
    else if (lease->state == GIVES_BACK)
        give_back(lease);
    else if (lease->state == LOOKS)
        cw_timer_start(lease->next, lease->options.renew_ms, 0);
}

/* A call gets a third of what is left until leading ends, so that there is another try. */
static void begin_call(struct cw_kube_lease *lease)
{
    lease->asked_ms = cw_clock_boot_ms();
    cw_timer_start(lease->next, CW_MAX(lease->options.give_up_ms / 3, lease->options.renew_ms), 0);
}

static void read_lease(struct cw_kube_lease *lease)
{
    const struct cw_kube_target target = target_of(lease, true);

    begin_call(lease);
    lease->call = cw_kube_get(lease->kube, &target, on_read, lease);
}

static void send_lease(struct cw_kube_lease *lease, const char *holder)
{
    bool exists = lease->record.object.type == CW_VALUE_OBJECT;
    const struct cw_kube_target target = target_of(lease, exists);
    CW_STR_AUTO body = {0};

    cw_lease_record_print(&lease->record, lease->name_space, lease->name, holder,
                          lease->options.duration_ms, cw_clock_wall_ms() * 1000, &body);
    lease->call = exists ? cw_kube_update(lease->kube, &target, body.s, on_written, lease)
                         : cw_kube_create(lease->kube, &target, body.s, on_written, lease);
}

static void write_lease(struct cw_kube_lease *lease)
{
    begin_call(lease);
    send_lease(lease, lease->identity);
}

/* It is time for the next try, or the present one takes too long. */
static void on_next(void *arg)
{
    struct cw_kube_lease *lease = arg;
    bool hangs = lease->call != NULL;

    if (lease->state == HOLDS && !cw_kube_lease_holds(lease)) {
        on_end(lease); /* the host has slept */
        return;
    }
    cw_kube_call_cancel(lease->call);
    lease->call = NULL;
    if (lease->state == GIVES_BACK)
        finish(lease);
    else if (hangs)
        read_lease(lease);
    else if (lease->state == HOLDS)
        write_lease(lease);
    else
        consider(lease);
}

/* ---- the watch ---- */

static void *keep_whole(void *arg, struct cw_value *object)
{
    struct cw_value *kept = CW_NEW(struct cw_value);

    (void)arg;
    *kept = *object;
    *object = (struct cw_value){0};
    return kept;
}

static void dispose(void *arg, void *kept)
{
    (void)arg;
    cw_value_fini(kept);
    cw_mem_free(kept);
}

/* An own write is known when its answer comes, and while a call is under way that comes first. */
static void on_changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                       void *before)
{
    struct cw_kube_lease *lease = arg;
    struct cw_value copy = {0};

    (void)before;
    if (lease->call || lease->state == GIVES_BACK || lease->state == LOST ||
        !cw_str_eq(strchr(object->key, '/') + 1, lease->name))
        return;
    if (change != CW_KUBE_DELETED)
        cw_value_copy(&copy, object->kept);
    see(lease, change == CW_KUBE_DELETED ? NULL : &copy);
    cw_value_fini(&copy);
    consider(lease);
}

static void on_listed(void *arg)
{
    struct cw_kube_lease *lease = arg;

    if (!lease->listed && lease->record.object.type == CW_VALUE_NULL)
        (void)cw_lease_record_see(&lease->record, NULL, cw_clock_boot_ms());
    lease->listed = true;
    consider(lease);
}

static void on_watch_failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    (void)retry_ms;
    fail(arg, err);
}

static void begin_watch(struct cw_kube_lease *lease)
{
    cw_autofree char *fields = cw_mem_printf("metadata.name=%s", lease->name);
    const struct cw_kube_watch_options options = {
        .target = target_of(lease, false),
        .fields = fields,
        .retry_max_ms = lease->options.renew_ms,
    };
    const struct cw_kube_watch_events events = {
        {keep_whole, dispose, on_changed, lease}, on_listed, on_watch_failed, lease};
    lease->watch = cw_kube_watch_new(lease->kube, &options, &events);
}

/* ---- from outside ---- */

static int check_options(struct cw_kube_lease_options *options, struct cw_err *err)
{
    if (options->duration_ms == 0)
        options->duration_ms = DURATION_MS;
    if (options->renew_ms == 0)
        options->renew_ms = RENEW_MS;
    if (options->give_up_ms == 0)
        options->give_up_ms = GIVE_UP_MS;
    if (options->renew_ms <= 0 || options->renew_ms >= options->give_up_ms ||
        options->give_up_ms >= options->duration_ms)
        return cw_err_set(err, CW_E_INVALID,
                          "a lease is renewed more often than it is given up, and given up before "
                          "it expires: %lld, %lld, %lld ms",
                          (long long)options->renew_ms, (long long)options->give_up_ms,
                          (long long)options->duration_ms);
    return CW_OK;
}

int cw_kube_lease_new(struct cw_kube *kube, const struct cw_kube_lease_options *options,
                      const struct cw_kube_lease_events *events, struct cw_kube_lease **ret_lease,
                      struct cw_err *err)
{
    struct cw_kube_lease_options checked = *options;
    int rc = check_options(&checked, err);

    if (rc != CW_OK)
        return rc;
    struct cw_kube_lease *lease = CW_NEW(struct cw_kube_lease);
    lease->kube = kube;
    lease->options = checked;
    lease->events = *events;
    lease->name = cw_mem_strdup(options->name);
    lease->identity = cw_mem_strdup(options->identity);
    lease->name_space =
        cw_mem_strdup(options->name_space ? options->name_space : cw_kube_namespace(kube));
    lease->next = cw_timer_new(cw_kube_loop(kube), on_next, lease);
    lease->end = cw_timer_new(cw_kube_loop(kube), on_end, lease);
    begin_watch(lease);
    *ret_lease = lease;
    return CW_OK;
}

void cw_kube_lease_free(struct cw_kube_lease *lease)
{
    if (!lease)
        return;
    cw_kube_call_cancel(lease->call);
    cw_kube_watch_free(lease->watch);
    cw_timer_free(lease->next);
    cw_timer_free(lease->end);
    cw_lease_record_fini(&lease->record);
    cw_mem_free(lease->name_space);
    cw_mem_free(lease->name);
    cw_mem_free(lease->identity);
    cw_mem_free(lease->told_holder);
    cw_mem_free(lease);
}

bool cw_kube_lease_holds(const struct cw_kube_lease *lease)
{
    return lease->state == HOLDS && cw_clock_boot_ms() < lease->holds_until_ms;
}

void cw_kube_lease_release(struct cw_kube_lease *lease, cw_loop_fn *done, void *arg)
{
    bool holds = cw_kube_lease_holds(lease);

    lease->state = GIVES_BACK;
    lease->done = done;
    lease->done_arg = arg;
    cw_timer_stop(lease->end);
    cw_timer_start(lease->next, holds ? lease->options.renew_ms : 0, 0);
    if (holds && !lease->call) /* or when its answer has told the version */
        give_back(lease);
}
