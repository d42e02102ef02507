/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/scale_int.h"

extern const struct cw_scale_policy cw_policy_autoscale_auto;

/* Decides for a job that can have no remote workers: as many local ones as the trainer needs, by
 * what they contribute. In the state `remote` then means local. */
int cw_autoplace_here(const struct cw_scale_window *window, double local_max,
                      const struct cw_scale_options *options, struct cw_scale_state *s,
                      struct cw_scale_decision *d, struct cw_err *err)
{
    struct cw_scale_window here = *window;
    struct cw_scale_options o = *options;
    const struct cw_scale_available available = {.remote = local_max};
    here.remote = window->local;
    here.local = o.max_workers = o.min_workers = 0;
    int rc = cw_policy_autoscale_auto.decide(&here, &available, &o, NULL, s, d, err);
    d->local = d->remote;
    d->remote = 0;
    return rc;
}
