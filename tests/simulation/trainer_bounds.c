/* SPDX-License-Identifier: Apache-2.0 */
/* What a client has is bounded (bounds.h): in a trainer's program, whenever an output has come. The
 * linker leads the library's calls about credit here. */
#include "bounds.h"
#include "trainer_bounds.h"

#include "client/delivery/ledger.h"
#include "client/session/session_int.h"
#include "client/transport/credit.h"
#include "trainer.h"

#define FIRST_BYTES ((double)(64 << 10)) /* are granted before it is known what outputs need */

/* Of this process: the largest batch that was being filled, and the most workers so far; and by how
 * much more than was granted has come since there was last room in the buffer. */
static uint64_t filled, workers;
static double beyond;

__typeof__(cw_credit_charge) __real_cw_credit_charge, __wrap_cw_credit_charge;

/* An output is larger than what was left of the credit; it needs none, since it comes before one that
 * the worker has sent; or outputs need more memory than those before them. */
struct cw_charge __wrap_cw_credit_charge(struct cw_credit *credit, uint64_t bytes, uint64_t cost)
{
    bool first = credit->bytes <= 0 && credit->more <= 0;
    double before = (double)cw_credit_promised(credit);
    struct cw_charge charge = __real_cw_credit_charge(credit, bytes, cost);
    double more = (double)cw_credit_promised(credit) + (double)cost - before;
    double most = FIRST_BYTES * credit->more / (credit->bytes > 1 ? credit->bytes : 1);

    if (first && bytes > 0 && more > most + (double)cost)
        more = most + (double)cost;
    beyond += more > 0 ? more : 0;
    return charge;
}

__typeof__(cw_credit_overdraw) __real_cw_credit_overdraw, __wrap_cw_credit_overdraw;

/* A client whose trainer starves grants a quarter of a worker's part beyond it. */
uint64_t __wrap_cw_credit_overdraw(struct cw_credit *credit)
{
    beyond += (double)(credit->limit / 4);
    return __real_cw_credit_overdraw(credit);
}

static void check_buffer(const struct cw_ledger *ledger, const struct cw_session *session,
                         uint64_t cost)
{
    uint64_t bytes = cw_ledger_bytes(ledger) - ledger->rebatch.filling.bytes + cost, promised = 0;

    for (size_t i = 0; i < session->streams_n; i++)
        promised += cw_worker_stream_promised(session->streams[i]);
    if (session->streams_n > workers)
        workers = session->streams_n;
    if (ledger->rebatch.filling.bytes > filled)
        filled = ledger->rebatch.filling.bytes;
    if (bytes + promised <= SIM_BUFFER(session->conf.buffer_bytes, workers))
        beyond = 0;
    sim_bound("bytes received and not given out", bytes,
              SIM_MOST_BUFFERED(session->conf.buffer_bytes, workers, filled) + (uint64_t)beyond);
}

void sim_check_trainer_bounds(const struct cw_ledger *ledger, uint64_t cost)
{
    const struct cw_session *session = ledger->job->session;
    const struct sim_trainer *t = sim_trainer_self;

    if (!t || !session) /* a stranger, or one that has just come */
        return;
    check_buffer(ledger, session, cost);
    if (session->stream)
        sim_bound("bytes that wait for the dispatcher", cw_stream_queued(session->stream),
                  SIM_MOST_CONTROL_BYTES);
    uint64_t window = t->window > (uint64_t)t->consumers ? t->window : (uint64_t)t->consumers;
    if (t->window > 0 && !ledger->job->sparse && t->mode == 0 && !t->at_most_once)
        sim_bound("entries that are not consumed", ledger->records_n, SIM_MOST_RECORDS(window));
}
