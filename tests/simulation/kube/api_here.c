/* SPDX-License-Identifier: Apache-2.0 */
/* The fake API server in the program that speaks to it. */
#include <string.h>
#include <sys/random.h>

#include "api_door.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "fake_http.h"
#include "sim.h"

static struct {
    struct fk_server *server;
    struct cw_timer *due;
    int64_t late_ms;
    bool away;
} here;

/* Identities and waits are the seed's. */
ssize_t getrandom(void *bytes, size_t n, unsigned flags)
{
    unsigned char *p = bytes;
    (void)flags;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)sim_random();
    return (ssize_t)n;
}

static void on_due(void *arg)
{
    (void)arg;
    fk_server_advance(here.server, cw_clock_ms());
    fake_http_settle();
}

void fake_http_begin(struct cw_loop *loop, struct fk_server *server, int64_t late_ms)
{
    here.server = server;
    here.late_ms = late_ms;
    here.due = cw_timer_new(loop, on_due, NULL);
}

void fake_http_end(void)
{
    cw_timer_free(here.due);
    memset(&here, 0, sizeof(here));
}

void fake_http_settle(void)
{
    int64_t next_ms = fk_server_next_ms(here.server);

    if (next_ms == INT64_MAX)
        cw_timer_stop(here.due);
    else
        cw_timer_start(here.due, CW_MAX(next_ms - cw_clock_ms(), 0), 0);
}

void fake_http_set_away(bool away)
{
    here.away = away;
}

int64_t api_door_late_ms(void)
{
    return here.late_ms;
}

bool api_door_is_shut(void)
{
    return here.away;
}

void api_door_ask(const struct fk_request *request, struct fk_answer *ret_answer)
{
    fk_server_handle(here.server, cw_clock_ms(), request, ret_answer);
    fake_http_settle();
}

void api_door_answer_fini(struct fk_answer *answer)
{
    fk_answer_fini(answer);
}

void api_door_watch(struct fk_watch *watch, fk_watch_fn *fn, void *arg)
{
    fk_watch_start(watch, fn, arg);
}

void api_door_watch_free(struct fk_watch *watch)
{
    fk_watch_free(watch);
}
