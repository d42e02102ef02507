/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/credit.h"

#include "base/mem.h"

#define FIRST_BYTES ((uint64_t)64 << 10)
/* A new output contributes one part in this many to a moving average. */
#define WEIGHT 16

/* Returns how much memory is needed for outputs of this many bytes. */
static double memory_of(const struct cw_credit *credit, double bytes)
{
    return bytes * (1 + credit->more / CW_MAX(credit->bytes, 1.0));
}

/* Returns how many bytes of outputs fit into this much memory; at least 1. */
static uint64_t bytes_in(const struct cw_credit *credit, double memory)
{
    return CW_MAX((uint64_t)(memory / memory_of(credit, 1)), (uint64_t)1);
}

/* Returns whether an output has come, so that it is known how much memory outputs need. */
static bool is_known(const struct cw_credit *credit)
{
    return credit->bytes > 0 || credit->more > 0;
}

static uint64_t limit_of(const struct cw_credit *credit)
{
    return is_known(credit) ? credit->limit : CW_MIN(credit->limit, FIRST_BYTES);
}

struct cw_credit *cw_credit_new(uint64_t limit)
{
    struct cw_credit *credit = CW_NEW(struct cw_credit);
    credit->refs = 1;
    credit->limit = limit;
    return credit;
}

void cw_credit_unref(struct cw_credit *credit)
{
    if (credit && --credit->refs == 0)
        cw_mem_free(credit);
}

uint64_t cw_credit_begin(struct cw_credit *credit, uint64_t room)
{
    uint64_t memory = CW_MIN(limit_of(credit), room),
             first = memory > 0 ? bytes_in(credit, (double)memory) : 0;
    credit->conn++;
    credit->out = (int64_t)first;
    credit->held = 0;
    return first;
}

struct cw_charge cw_credit_charge(struct cw_credit *credit, uint64_t bytes, uint64_t cost)
{
    bool first = !is_known(credit);
    credit->out -= (int64_t)bytes;
    credit->held += cost;
    credit->bytes += ((double)bytes - credit->bytes) / (first ? 1 : WEIGHT);
    credit->more += ((double)(cost - bytes) - credit->more) / (first ? 1 : WEIGHT);
    credit->refs++;
    return (struct cw_charge){credit, credit->conn, cost};
}

void cw_charge_return(struct cw_charge *charge)
{
    struct cw_credit *credit = charge->credit;
    if (credit && charge->conn == credit->conn)
        credit->held -= CW_MIN(charge->cost, credit->held);
    cw_credit_unref(credit);
    *charge = (struct cw_charge){0};
}

void cw_credit_end(struct cw_credit *credit)
{
    credit->out = 0;
}

uint64_t cw_credit_promised(const struct cw_credit *credit)
{
    return credit->out > 0 ? (uint64_t)memory_of(credit, (double)credit->out) : 0;
}

/* Adds to what the worker may send. What it has sent beyond its credit is granted as well, since its
 * memory is charged, or free again. */
static uint64_t add(struct cw_credit *credit, uint64_t bytes)
{
    bytes += credit->out < 0 ? (uint64_t)-credit->out : 0;
    credit->out += (int64_t)bytes;
    return bytes;
}

uint64_t cw_credit_grant(struct cw_credit *credit, uint64_t room, bool all)
{
    double used = (double)credit->held + (double)cw_credit_promised(credit),
           left = CW_MIN((double)limit_of(credit) - used, (double)room);
    if (left < 1 || (!all && left < (double)(credit->limit / 4)))
        return 0;
    return add(credit, bytes_in(credit, left));
}

uint64_t cw_credit_grant_one(struct cw_credit *credit)
{
    return credit->out > 0 || credit->held > 0 ? 0 : add(credit, 1);
}

uint64_t cw_credit_overdraw(struct cw_credit *credit)
{
    uint64_t bytes = bytes_in(credit, (double)(credit->limit / 4));
    credit->out += (int64_t)bytes;
    return bytes;
}
