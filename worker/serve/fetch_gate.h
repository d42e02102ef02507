/* SPDX-License-Identifier: Apache-2.0 */
/* Who may fetch from this worker, with TLS. Loop thread. */
#ifndef CW_WORKER_SERVE_FETCH_GATE_H
#define CW_WORKER_SERVE_FETCH_GATE_H

#include "rpc/rpc.h"
#include "worker/model/state.h"

/* The gate of the worker's server; arg: the worker. */
enum cw_gate cw_wclients_gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                              const char **ret_why);
/* Whether a caller (cw_stream_caller) may see a job of the tenant; "" and NULL are the tenant default. */
bool cw_wclients_is_of_tenant(const void *caller, const char *tenant);

#endif
