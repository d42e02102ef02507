/* SPDX-License-Identifier: Apache-2.0 */
/* The autoplace policy `pecan`: Pecan's AutoPlacement (Graur et al., ATC'24, and the published
 * state machine). Remote workers are added while each brings more than 3 % (or, with prices, more
 * than it costs); then local ones, which cost nothing, while no window is more than 10 % slower
 * than the one before; then remote ones are taken away while that is cheaper. A window is compared
 * with the newest one that had other workers.
 *
 *   adding the (n+1)th pays    gain * (C + n W) > W (1 - gain)      C, W: prices of client and
 *                              worker per hour
 *   taking one away pays       W > loss * (C + n W) */
#include "policies/scale_int.h"
#include "policies/scale_settings.h"

#include <math.h>

#define REMOTE_MAX 20
#define LOCAL_MAX 10
#define CLIENT_PRICE 4.96
#define WORKER_PRICE 0.427319

struct view { /* the input of one decision */
    const struct cw_scale_options *options;
    double r, l;   /* remote and local workers now */
    double r0, l0; /* remote and local workers in the window that is compared with */
    double gain;
    double remote_now, remote_max, local_max;
};

static bool adding_helps(const struct view *v)
{
    double client = v->options->client_price, worker = v->options->worker_price;
    if (client > 0 || worker > 0)
        return v->gain * (client + v->r0 * worker) > worker * (1 - v->gain);
    return v->gain > cw_scale_or(v->options->up, 0.03);
}

static bool removing_helps(const struct view *v)
{
    double client = cw_scale_or(v->options->client_price, CLIENT_PRICE),
           worker = cw_scale_or(v->options->worker_price, WORKER_PRICE);
    return worker > -v->gain * (client + v->r * worker);
}

static void set(struct cw_scale_state *s, struct cw_policy_decision *d, enum cw_scale_phase phase,
                double r, double l)
{
    s->phase = phase;
    cw_scale_target(s, d, r, l);
}

static void remote_up(const struct view *v, struct cw_scale_state *s, struct cw_policy_decision *d)
{
    if (adding_helps(v) && v->r < v->remote_max && v->remote_now > v->r) {
        cw_str_addf(&d->reason, "the last remote worker made batches %.1f %% faster: one more",
                    100 * v->gain);
        set(s, d, CW_SCALE_REMOTE_UP, v->r + 1, v->l);
        return;
    }
    cw_str_addf(&d->reason, "the last remote worker brought %.1f %%: local ones are tried",
                100 * v->gain);
    s->phase_count = 0;
    set(s, d, CW_SCALE_LOCAL_UP, v->r == v->remote_max ? v->remote_max : v->r0, v->l0 + 1);
}

static void local_up(const struct view *v, struct cw_scale_state *s, struct cw_policy_decision *d)
{
    bool slower = v->gain < -cw_scale_or(v->options->error_bar, 0.1);
    if (!slower && v->l < v->local_max) {
        cw_str_addf(
            &d->reason,
            "a local worker costs nothing, and batches are not more than 10 %% slower: one more");
        set(s, d, CW_SCALE_LOCAL_UP, v->r, v->l + 1);
        return;
    }
    double l = slower ? v->l - 1 : v->l;
    if (l == s->phase_count || v->r == 0) {
        cw_str_addf(&d->reason, "%s: settled",
                    v->r == 0 ? "no remote worker is left" : "no local worker was gained");
        set(s, d, CW_SCALE_STABLE, v->r, l);
        return;
    }
    if (slower)
        cw_str_addf(&d->reason,
                    "batches are %.1f %% slower: %.0f local workers, and one remote less is tried",
                    -100 * v->gain, l);
    else
        cw_str_addf(&d->reason, "there may be no more local workers: one remote less is tried");
    s->phase_count = v->r;
    set(s, d, CW_SCALE_REMOTE_DOWN, v->r - 1, l);
}

static void remote_down(const struct view *v, struct cw_scale_state *s,
                        struct cw_policy_decision *d)
{
    bool ok = removing_helps(v);
    if (ok && v->r > 0) {
        cw_str_addf(&d->reason,
                    "without that remote worker batches are %.1f %% slower, which costs less than "
                    "it: one less",
                    -100 * v->gain);
        set(s, d, CW_SCALE_REMOTE_DOWN, v->r - 1, v->l);
        return;
    }
    double r = ok ? v->r : v->r + 1;
    if (r == s->phase_count || v->l >= v->local_max) {
        cw_str_addf(&d->reason, "%s: settled",
                    ok ? "no remote worker is left" : "that remote worker was worth its price");
        set(s, d, CW_SCALE_STABLE, r, v->l);
        return;
    }
    cw_str_addf(&d->reason, "remote workers are few enough: local ones are tried again");
    s->phase_count = v->l;
    set(s, d, CW_SCALE_LOCAL_UP, r, v->l + 1);
}

/* Fills the view. Returns false if there is no window to compare with, or none that can be
 * trusted. */
static bool compare(struct cw_scale_state *s, struct view *v, struct cw_policy_decision *d)
{
    if (s->history_n == 1) {
        cw_str_addf(&d->reason, "first window: one remote worker more, to see what it brings");
        cw_scale_target(s, d, v->r + 1, v->l);
        return false;
    }
    const struct cw_scale_window *other = cw_scale_other(s, true);
    if (!other) {
        cw_str_addf(&d->reason, "no other number of workers is possible: settled");
        set(s, d, CW_SCALE_STABLE, v->r, v->l);
        return false;
    }
    const struct cw_scale_window *last = &s->history[s->history_n - 1];
    v->r0 = other->remote;
    v->l0 = other->local;
    v->gain = 1 - cw_scale_batch_s(last) / cw_scale_batch_s(other);
    if (isfinite(v->gain) && fabs(v->gain) <= cw_scale_or(v->options->outlier, 1.3))
        return true;
    s->history_n--; /* the window cannot be right */
    cw_scale_target(s, d, s->remote, s->local);
    return false;
}

static int decide(const struct cw_scale_window *window, const struct cw_scale_available *available,
                  const struct cw_scale_options *options, const char *argument,
                  struct cw_scale_state *s, struct cw_policy_decision *d, struct cw_err *err)
{
    static const struct cw_scale_setting settings[] = {
        CW_SCALE_SETTING("up", up, 1e-6, 1), CW_SCALE_SETTING("outlier", outlier, 1e-6, 1e6),
        CW_SCALE_SETTING("slower", error_bar, 1e-6, 1)};
    struct cw_scale_options own = *options;
    int rc =
        cw_scale_settings("pecan", argument, settings, CW_ARRAY_LEN(settings), false, &own, err);
    if (rc < 0)
        return rc;
    struct view v = {.options = &own,
                     .r = window->remote,
                     .l = window->local,
                     .remote_now = cw_scale_remote_now(available)};
    v.remote_max = cw_scale_or(options->max_workers, REMOTE_MAX);
    v.local_max = cw_scale_or(options->max_local, LOCAL_MAX);
    if (s->phase == CW_SCALE_BEGIN)
        set(s, d, CW_SCALE_REMOTE_UP, v.r, v.l);
    /* the workers of the last decision have not all arrived yet */
    if (v.r != s->remote && v.remote_now > v.r) {
        cw_scale_target(s, d, s->remote, s->local);
        return 0;
    }
    if ((v.r != s->remote || v.l != s->local) && s->phase != CW_SCALE_STABLE)
        s->phase = CW_SCALE_LOCAL_UP; /* there are no more remote workers */
    cw_scale_remember(s, window);
    if (s->phase == CW_SCALE_STABLE)
        set(s, d, CW_SCALE_STABLE, s->remote, s->local);
    else if (compare(s, &v, d)) {
        if (s->phase == CW_SCALE_REMOTE_UP)
            remote_up(&v, s, d);
        else if (s->phase == CW_SCALE_LOCAL_UP)
            local_up(&v, s, d);
        else
            remote_down(&v, s, d);
    }
    d->settled = s->phase == CW_SCALE_STABLE;
    return 0;
}

const struct cw_scale_policy cw_policy_autoplace_pecan = {
    .name = "pecan",
    .summary = "remote up, local up, remote down, as published (ATC'24)",
    .places = true,
    .decide = decide};
