/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/waits_for.h"

#include "base/str.h"
#include "client/model/public.h"

#define NAMED_MAX 3 /* So many workers are named in a text. */

static const struct cw_waits_stream *lost_stream(const struct cw_waits_view *view,
                                                 uint64_t worker_id)
{
    for (size_t i = 0; i < view->streams_n; i++)
        if (view->streams[i].worker_id == worker_id && view->streams[i].why)
            return &view->streams[i];
    return NULL;
}

static size_t count_up(const struct cw_waits_view *view)
{
    size_t n = 0;
    for (size_t i = 0; i < view->streams_n; i++)
        n += view->streams[i].up;
    return n;
}

static void name_lost(const struct cw_waits_view *view, struct cw_str *out)
{
    size_t n = 0;
    for (size_t i = 0; i < view->streams_n; i++) {
        const struct cw_waits_stream *s = &view->streams[i];
        if (s->up || ++n > NAMED_MAX)
            continue;
        cw_str_addf(out, "%sworker %s cannot be reached from this host (%s)", n > 1 ? "; " : "",
                    s->address, s->why ? s->why : "no answer yet");
    }
    if (n > NAMED_MAX)
        cw_str_addf(out, "; and %zu more", n - NAMED_MAX);
}

/* No stream to any worker is open. */
static void set_unreachable(const struct cw_waits_view *view, struct cw_waits *ret_waits)
{
    CW_STR_AUTO text = {0};
    name_lost(view, &text);
    cw_waits_set(ret_waits, CACHEW_WAIT_WORKER, view->starving_ns, "%s", cw_str_text(&text));
}

static void set_computing(const struct cw_waits_view *view, size_t up, struct cw_waits *ret_waits)
{
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "%zu %s the job", up,
                up == 1 ? "worker computes for" : "workers compute for");
    if (view->ordered)
        cw_str_addf(&text, ", and item %llu of epoch %llu has not come",
                    (unsigned long long)view->item, (unsigned long long)view->epoch);
    if (view->later > 0)
        cw_str_addf(&text, " (%llu later ones have)", (unsigned long long)view->later);
    if (up < view->streams_n) {
        cw_str_add(&text, "; ");
        name_lost(view, &text);
    }
    cw_waits_set(ret_waits, CACHEW_WAIT_COMPUTING, view->starving_ns, "%s", cw_str_text(&text));
}

/* What a starving trainer waits for while the dispatcher is there. What the dispatcher tells is more
 * exact than what is known here, unless it is about a worker that this host cannot reach. */
static void set_starving(const struct cw_waits_view *view, struct cw_waits *ret_waits)
{
    const struct cw_waits *told = view->told;
    const struct cw_waits_stream *lost = lost_stream(view, told->worker_id);
    size_t up = count_up(view);
    if (told->kind != CACHEW_WAIT_NOTHING && lost)
        cw_waits_set(ret_waits, CACHEW_WAIT_WORKER, told->since_ns,
                     "worker %s, which has what comes next, cannot be reached from this host (%s)",
                     lost->address, lost->why);
    else if (told->kind != CACHEW_WAIT_NOTHING && (up > 0 || view->streams_n == 0))
        *ret_waits = *told;
    else if (view->streams_n == 0)
        cw_waits_set(ret_waits, CACHEW_WAIT_NO_WORKER, view->starving_ns,
                     "the dispatcher at %s has no worker for the job", view->dispatcher);
    else if (up == 0)
        set_unreachable(view, ret_waits);
    else
        set_computing(view, up, ret_waits);
}

static void set_starting(const struct cw_waits_view *view, struct cw_waits *ret_waits)
{
    if (view->told->kind != CACHEW_WAIT_NOTHING)
        *ret_waits = *view->told;
    else if (view->away->kind != CACHEW_WAIT_NOTHING)
        *ret_waits = *view->away;
    else
        cw_waits_set(ret_waits, CACHEW_WAIT_DISPATCHER, view->began_ns,
                     "the dispatcher at %s does not answer", view->dispatcher);
}

static void set_idle(const struct cw_waits_view *view, struct cw_waits *ret_waits)
{
    CW_STR_AUTO size = {0};
    cw_str_add_size(&size, (double)view->ready_bytes);
    cw_waits_set(ret_waits, CACHEW_WAIT_TRAINER, view->idle_ns,
                 "%llu batches (%s) are ready, and the trainer does not take them",
                 (unsigned long long)view->ready, cw_str_text(&size));
}

void cw_waits_for(const struct cw_waits_view *view, struct cw_waits *ret_waits)
{
    cw_waits_clear(ret_waits);
    if (view->over)
        return;
    if (!view->begun)
        set_starting(view, ret_waits);
    else if (view->idle_ns != 0)
        set_idle(view, ret_waits);
    else if (view->starving_ns == 0)
        return;
    else if (!view->connected && view->away->kind != CACHEW_WAIT_NOTHING)
        *ret_waits = *view->away;
    else
        set_starving(view, ret_waits);
}
