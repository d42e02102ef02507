/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a worker over HTTP: probes and metrics (option --metrics-listen). Loop thread. */
#ifndef CW_WORKER_SESSION_PROBES_H
#define CW_WORKER_SESSION_PROBES_H

#include "worker/model/state.h"

/* Serves /livez, /readyz, /healthz and /metrics at an address; NULL: nowhere. */
int cw_probes_start(struct cw_worker_state *w, const char *listen, struct cw_err *err);
void cw_probes_stop(struct cw_worker_state *w);

#endif
