/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer says that it has received and consumed. A message may say so much that the loop would
 * stand for long: it is taken in pieces (struct cw_ack). */
#include "base/fault.h"
#include "dispatcher/job/job.h"
#include "dispatcher/lease/lease.h"
#include "dispatcher/message/message.h"
#include "trace/trace.h"

/* So many intervals, or items that alternate with those of others, are a piece: some milliseconds. */
#define PIECE 16384
/* What a set costs besides, in intervals: it is looked for in all leases of its epoch. */
#define SET_COST 64

static void ack_epoch(struct cw_job *job, uint32_t consumer, struct cw_epoch *epoch,
                      const struct cw_set *said, bool consumed, uint64_t *ret_new)
{
    struct cw_set fresh = {0}, news = {0};
    uint64_t used = 0;
    if (consumed && job->layout.mode == CW_MODE_SHARED) {
        cw_set_copy(&news, said);
        cw_set_intersect(&news, &epoch->parts[consumer].owned);
    }
    if (consumed)
        used = cw_epoch_consume(epoch, consumer, said, &fresh);
    else
        cw_epoch_receive(epoch, consumer, said, &fresh);
    *ret_new = consumed ? used : cw_set_count(&fresh);
    /* In a sparse job all items of a long batch are consumed at once, which says little about the
     * rate. */
    job->consumed_since += job->info->sparse ? cw_set_count(&fresh) : used;
    if (fresh.n > 0)
        cw_lease_received(job, epoch->number, &fresh);
    if (consumed)
        cw_trace_consumed(job->id, epoch->number, said);
    else
        cw_trace_received(job->id, epoch->number, said);
    if (news.n > 0)
        cw_job_send_taken(job, epoch->number, &news, consumer);
    cw_set_fini(&fresh);
    cw_set_fini(&news);
}

/* The set that the next piece is of; NULL: all were taken. The epochs that are over come first, then
 * what was received, then what was consumed. */
static const Cachew__V1__EpochSet *current_set(struct cw_ack *ack, bool *ret_consumed)
{
    size_t i = ack->next;
    *ret_consumed = true;
    if (i < ack->over_end - ack->over) {
        cachew__v1__epoch_set__init(&ack->over_set);
        ack->over_set.epoch = ack->over + i;
        ack->over_set.n_items = 1;
        ack->whole_at = &ack->whole;
        ack->over_set.items = &ack->whole_at;
        return &ack->over_set;
    }
    i -= ack->over_end - ack->over;
    if (i < ack->received_n) {
        *ret_consumed = false;
        return ack->received[i];
    }
    i -= ack->received_n;
    return i < ack->consumed_n ? ack->consumed[i] : NULL;
}

static void next_set(struct cw_ack *ack)
{
    ack->next++;
    ack->at = 0;
    ack->from = ack->looked = ack->found = 0;
}

/* How many items of a consumer an interval may have that alternate with those of others, as far as they
 * are looked at (cw_epoch_receive). */
static uint64_t width(const struct cw_epoch *epoch, uint64_t lo, uint64_t hi)
{
    lo = CW_MAX(lo, cw_epoch_lowest_unconsumed(epoch));
    hi = CW_MIN(hi, epoch->items);
    return lo < hi ? 1 + (hi - lo) / epoch->layout.consumers : 1;
}

/* Puts a part of a wide interval into ret_said. */
static void take_part(struct cw_ack *ack, const struct cw_epoch *epoch,
                      const Cachew__V1__Interval *interval, uint64_t most, struct cw_set *ret_said)
{
    uint64_t lo = CW_MAX(CW_MAX(interval->lo, ack->from), cw_epoch_lowest_unconsumed(epoch));
    uint64_t hi = CW_MIN(interval->hi, epoch->items), all = most * epoch->layout.consumers;
    ack->from = lo < hi && hi - lo > all ? lo + all : hi;
    cw_set_add(ret_said, lo, ack->from);
    if (ack->from >= hi)
        ack->at++, ack->from = 0;
}

/* Takes the next intervals of the set, of which no more than `most` items are looked at: so many as
 * are added to ack->looked. */
static int take_dealt(struct cw_ack *ack, const struct cw_epoch *epoch,
                      const Cachew__V1__EpochSet *set, uint64_t most, struct cw_set *ret_said,
                      struct cw_err *err)
{
    const Cachew__V1__Interval *const *v =
        (const Cachew__V1__Interval *const *)set->items + ack->at;
    if (v[0]->lo < v[0]->hi && (ack->from > 0 || width(epoch, v[0]->lo, v[0]->hi) > most)) {
        take_part(ack, epoch, v[0], most, ret_said);
        ack->looked += most;
        return 0;
    }
    uint64_t sum = width(epoch, v[0]->lo, v[0]->hi);
    size_t n = 1;
    for (; ack->at + n < set->n_items; n++) {
        uint64_t next = width(epoch, v[n]->lo, v[n]->hi);
        if (sum + next > most)
            break;
        sum += next;
    }
    int rc = cw_wire_set_from(set->items + ack->at, n, ret_said, err);
    ack->at += n;
    ack->looked += sum;
    return rc;
}

/* Takes a piece of the set, which is no larger than `left`, and takes its size off that. epoch: NULL if
 * it is not open. */
static int take(struct cw_ack *ack, const struct cw_epoch *epoch, const Cachew__V1__EpochSet *set,
                size_t *left, struct cw_set *ret_said, struct cw_err *err)
{
    if (set->n_items > CW_INTERVALS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "a set of %zu intervals", set->n_items);
    if (epoch && cw_epoch_is_dealt(epoch)) {
        uint64_t before = ack->looked, most = CW_MIN(*left, CW_DEALT_STEPS_MAX - before);
        int rc =
            take_dealt(ack, epoch, set, CW_MIN(most, CW_DEALT_NEW_MAX - ack->found), ret_said, err);
        *left -= CW_MIN(*left, ack->looked - before);
        return rc;
    }
    size_t n = CW_MIN(*left, set->n_items - ack->at);
    int rc = cw_wire_set_from(set->items + ack->at, n, ret_said, err);
    ack->at += n;
    *left -= n;
    return rc;
}

static bool is_at_end(const struct cw_ack *ack, const Cachew__V1__EpochSet *set)
{
    return ack->at >= set->n_items || ack->looked >= CW_DEALT_STEPS_MAX ||
           ack->found >= CW_DEALT_NEW_MAX;
}

void cw_job_ack_init(const struct cw_job *job, struct cw_ack *ack)
{
    cachew__v1__interval__init(&ack->whole);
    ack->whole.hi = job->items;
    if (job->items == 0)
        ack->over_end = ack->over;
}

/* Takes a piece and adds it to the job's progress. */
static int ack_piece(struct cw_job *job, uint32_t consumer, struct cw_ack *ack,
                     const Cachew__V1__EpochSet *set, bool consumed, size_t *left,
                     struct cw_err *err)
{
    struct cw_epoch *epoch = cw_job_open_epoch(job, set->epoch);
    struct cw_set said = {0};
    uint64_t news = 0;
    int rc = take(ack, epoch, set, left, &said, err);
    if (rc == 0 && epoch && said.n > 0)
        ack_epoch(job, consumer, epoch, &said, consumed, &news);
    if (epoch && cw_epoch_is_dealt(epoch))
        ack->found += news;
    cw_set_fini(&said);
    job->due.progress |= consumed;
    if (consumed)
        cw_job_leases_due(job);
    return rc;
}

int cw_job_ack(struct cw_job *job, uint32_t consumer, struct cw_ack *ack, bool *ret_more,
               struct cw_err *err)
{
    size_t left = cw_fault_rare("job.ack_piece") ? 1 : PIECE;
    const Cachew__V1__EpochSet *set;
    bool consumed;
    while ((set = current_set(ack, &consumed)) && left > 0) {
        if (is_at_end(ack, set)) {
            next_set(ack);
            left -= CW_MIN(left, (size_t)SET_COST);
            continue;
        }
        int rc = ack_piece(job, consumer, ack, set, consumed, &left, err);
        if (rc != 0)
            return rc;
    }
    *ret_more = set != NULL;
    return 0;
}
