/* SPDX-License-Identifier: Apache-2.0 */
/* Items that fail, or that kill the workers that compute them. An item that failed is retried on
 * other workers, a few times. When a worker dies, the items that it was computing are recorded. An
 * item that was there at several deaths becomes a suspect: it is leased alone, so that the next
 * death names it, and its job fails before the item has gone round the fleet. */
#include "base/hash.h"
#include "dispatcher/model/model.h"

#include <string.h>

#define FAULTS_MAX 4096

bool cw_deaths_add(struct cw_deaths *deaths, uint64_t worker_id)
{
    for (size_t i = 0; i < deaths->n; i++)
        if (deaths->v[i] == worker_id)
            return false;
    CW_GROW(deaths->v, deaths->n, deaths->cap);
    deaths->v[deaths->n++] = worker_id;
    return true;
}

static void forgive(struct cw_deaths *deaths, uint64_t worker_id)
{
    for (size_t i = deaths->n; i-- > 0;)
        if (deaths->v[i] == worker_id)
            deaths->v[i] = deaths->v[--deaths->n];
}

static uint64_t key_of(uint64_t epoch, uint64_t item)
{
    return cw_mix64(cw_mix64(epoch) + item);
}

/* Takes the fault out of those with the same key. */
static void forget_key(struct cw_job *job, const struct cw_item_fault *fault)
{
    uint64_t key = key_of(fault->epoch, fault->item);
    struct cw_item_fault *first = cw_map_get(&job->faults_by_item, key);
    if (first == fault && fault->next_same)
        (void)cw_map_set(&job->faults_by_item, key, fault->next_same);
    else if (first == fault)
        (void)cw_map_remove(&job->faults_by_item, key);
    for (; first && first != fault; first = first->next_same)
        if (first->next_same == fault)
            first->next_same = fault->next_same;
}

static void drop(struct cw_job *job, struct cw_item_fault *fault)
{
    forget_key(job, fault);
    *(fault->prev ? &fault->prev->next : &job->faults) = fault->next;
    *(fault->next ? &fault->next->prev : &job->faults_last) = fault->prev;
    job->faults_n--;
    cw_mem_free(fault->dead.v);
    cw_mem_free(fault->why);
    cw_mem_free(fault);
}

void cw_item_faults_free(struct cw_job *job)
{
    while (job->faults)
        drop(job, job->faults);
    cw_map_fini(&job->faults_by_item);
    cw_mem_free(job->prepare_dead.v);
}

struct cw_item_fault *cw_item_faults_find(const struct cw_job *job, uint64_t epoch, uint64_t item)
{
    struct cw_item_fault *fault = cw_map_get(&job->faults_by_item, key_of(epoch, item));
    while (fault && (fault->epoch != epoch || fault->item != item))
        fault = fault->next_same;
    return fault;
}

static struct cw_item_fault *note(struct cw_job *job, uint64_t epoch, uint64_t item)
{
    struct cw_item_fault *fault = cw_item_faults_find(job, epoch, item);
    if (fault)
        return fault;
    if (job->faults_n >= FAULTS_MAX) /* The list is full, so the oldest fault is dropped. */
        drop(job, job->faults);
    fault = CW_NEW(struct cw_item_fault);
    fault->epoch = epoch;
    fault->item = item;
    fault->prev = job->faults_last;
    *(fault->prev ? &fault->prev->next : &job->faults) = fault;
    job->faults_last = fault;
    job->faults_n++;
    fault->next_same = cw_map_set(&job->faults_by_item, key_of(epoch, item), fault);
    return fault;
}

static bool is_suspect(const struct cw_job *job, const struct cw_item_fault *fault)
{
    return fault->dead.n > 0 && fault->dead.n + 1 >= job->d->options.deaths_max;
}

void cw_item_faults_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items)
{
    for (struct cw_item_fault *fault = job->faults, *next; fault; fault = next) {
        next = fault->next;
        if (fault->epoch == epoch && cw_set_has(items, fault->item))
            drop(job, fault);
    }
}

void cw_item_faults_forget(struct cw_job *job, uint64_t below_epoch)
{
    for (struct cw_item_fault *fault = job->faults, *next; fault; fault = next) {
        next = fault->next;
        if (fault->epoch < below_epoch)
            drop(job, fault);
    }
}

static bool holds_suspect(const struct cw_share *share)
{
    const struct cw_job *job = share->job;
    for (const struct cw_item_fault *fault = job->faults; fault; fault = fault->next) {
        if (!is_suspect(job, fault))
            continue;
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
            if (lease->epoch == fault->epoch && cw_set_has(&lease->todo, fault->item))
                return true;
    }
    return false;
}

static bool others_serve(const struct cw_share *share)
{
    int64_t now = cw_clock_ms();
    struct cw_serving serving = {.job = share->job};
    for (const struct cw_worker *w; (w = cw_serving_next(&serving)) != NULL;) {
        const struct cw_share *other = cw_share_find(share->job, w);
        if (w != share->worker && !(other && cw_unreachable_bars(other, now)))
            return true;
    }
    return false;
}

uint64_t cw_item_faults_allow(const struct cw_share *share, uint64_t epoch,
                              const struct cw_interval *run)
{
    const struct cw_job *job = share->job;
    uint64_t n = run->hi - run->lo;
    for (const struct cw_item_fault *t = job->faults; t; t = t->next) {
        if (t->epoch != epoch || t->item < run->lo || t->item >= run->lo + n)
            continue;
        bool not_here =
            (t->failures > 0 && t->worker_id == share->worker->id && others_serve(share)) ||
            (is_suspect(job, t) && holds_suspect(share));
        if (t->item > run->lo && (not_here || is_suspect(job, t)))
            n = t->item - run->lo;
        else if (t->item == run->lo && not_here)
            return 0;
        else if (t->item == run->lo && is_suspect(job, t))
            n = 1;
    }
    return n;
}

/* A failure without a code is a defect of the worker. */
static int code_of(const Cachew__V1__ItemFailed *failed)
{
    return failed->code < 0 ? failed->code : CW_E_INTERNAL;
}

int cw_item_faults_failed(struct cw_job *job, const struct cw_worker *worker,
                          const Cachew__V1__ItemFailed *failed, char **ret_why)
{
    const struct cw_epoch *epoch = cw_job_epoch(job, failed->epoch);
    if (!epoch || failed->item >= epoch->items || cw_set_has(&epoch->received, failed->item))
        return 0;
    if (failed->element) {
        *ret_why = cw_mem_strdup(failed->error);
        return code_of(failed);
    }
    struct cw_item_fault *fault = note(job, failed->epoch, failed->item);
    fault->worker_id = worker->id;
    if (++fault->failures < CW_ATTEMPTS_MAX)
        return 1;
    *ret_why =
        cw_mem_printf("item %llu of epoch %llu failed on %u attempts, at last on worker %s: %s",
                      (unsigned long long)failed->item, (unsigned long long)failed->epoch,
                      fault->failures, worker->address, failed->error);
    return code_of(failed);
}

static bool blame(struct cw_job *job, uint64_t epoch, uint64_t item, const struct cw_worker *worker,
                  char **ret_why)
{
    struct cw_item_fault *fault = note(job, epoch, item);
    if (!cw_deaths_add(&fault->dead, worker->id) || fault->dead.n < job->d->options.deaths_max)
        return false;
    *ret_why = cw_mem_printf(
        "item %llu of epoch %llu: %zu workers died while computing it, the last was %s; it is "
        "not tried again%s%s",
        (unsigned long long)item, (unsigned long long)epoch, fault->dead.n, worker->address,
        fault->why ? ": " : "", fault->why ? fault->why : "");
    return true;
}

void cw_item_faults_forgive(struct cw_dispatcher *d, uint64_t worker_id, const char *only_job)
{
    for (struct cw_job *job = d->jobs; job; job = job->next) {
        if (only_job[0] != '\0' && strcmp(only_job, job->id) != 0)
            continue;
        forgive(&job->prepare_dead, worker_id);
        for (struct cw_item_fault *fault = job->faults; fault; fault = fault->next)
            forgive(&fault->dead, worker_id);
    }
}

static void set_why(char **why, const char *text)
{
    cw_mem_free(*why);
    *why = cw_mem_strdup(text);
}

int cw_item_faults_operator_died(struct cw_job *job, const Cachew__V1__Died *died, char **ret_why)
{
    const struct cw_epoch *epoch = died->has_item ? cw_job_epoch(job, died->epoch) : NULL;
    struct cw_deaths *dead = &job->prepare_dead;
    CW_STR_AUTO where = {0};
    if (died->has_item &&
        (!epoch || died->item >= epoch->items || cw_set_has(&epoch->received, died->item)))
        return 0;
    if (died->has_item) {
        struct cw_item_fault *fault = note(job, died->epoch, died->item);
        set_why(&fault->why, died->text);
        dead = &fault->dead;
        cw_str_addf(&where, " at item %llu of epoch %llu", (unsigned long long)died->item,
                    (unsigned long long)died->epoch);
    } else {
        set_why(&job->prepare_why, died->text);
    }
    if (!cw_deaths_add(dead, died->worker_id) || dead->n < job->d->options.deaths_max)
        return 1;
    *ret_why = cw_mem_printf("%s; %zu workers died of it%s, and it is not tried again", died->text,
                             dead->n, cw_str_text(&where));
    return CW_E_INTERNAL;
}

int cw_item_faults_died(struct cw_share *share, char **ret_why)
{
    struct cw_job *job = share->job;
    bool suspects_only = holds_suspect(share);
    uint64_t left = share->worker->threads + 1;
    for (const struct cw_lease *lease = share->leases; lease && left > 0; lease = lease->next) {
        for (size_t i = 0; lease->after_seq == 0 && i < lease->todo.n && left > 0; i++) {
            for (uint64_t item = lease->todo.v[i].lo; item < lease->todo.v[i].hi && left > 0;
                 item++) {
                const struct cw_item_fault *t = cw_item_faults_find(job, lease->epoch, item);
                if (suspects_only && !(t && is_suspect(job, t))) {
                    if (lease->todo.v[i].hi - item > 64)
                        /* A suspect item is leased alone, so a long run of items contains none. */
                        break;
                    continue;
                }
                left--;
                if (blame(job, lease->epoch, item, share->worker, ret_why))
                    return CW_E_INTERNAL;
            }
        }
    }
    return 0;
}
