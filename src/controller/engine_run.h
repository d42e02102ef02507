/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what engines do, each on a thread of its own, so that one that hangs holds up nothing else. */
#ifndef CW_CONTROLLER_ENGINE_RUN_H
#define CW_CONTROLLER_ENGINE_RUN_H

#include "controller/engine.h"
#include "loop/loop.h"

enum cw_engine_step { CW_ENGINE_PREPARE, CW_ENGINE_OWNS, CW_ENGINE_ERASE };
/* Called on the loop thread. */
typedef void cw_engine_fn(void *arg, int verdict, const struct cachew_engine_answer *answer);

struct cw_engine_runs;
struct cw_engine_runs *cw_engine_runs_new(struct cw_loop *loop) CW_MUST_CHECK;
/* Returns whether nothing is under way any more and it was freed. If not, what hangs ends with the
 * process, and the loop must stay. Accepts NULL. */
bool cw_engine_runs_free(struct cw_engine_runs *runs);
/* Copies the request. fn is called once, unless the runs are freed before. Returns false if too many
 * are under way: it is tried again later. */
bool cw_engine_run(struct cw_engine_runs *runs, const struct cachew_engine *engine,
                   enum cw_engine_step step, const struct cachew_engine_request *request,
                   cw_engine_fn *fn, void *arg);
size_t cw_engine_runs_n(const struct cw_engine_runs *runs);

#endif
