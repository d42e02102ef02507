/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of engines. */
#include "controller/engine_run.h"

#include "base/mem.h"
#include "base/thread.h"

#define RUNS_MAX 64

struct cw_engine_runs {
    struct cw_loop *loop;
    size_t n; /* under way; the loop thread's */
};
struct run {
    struct cw_engine_runs *runs;
    const struct cachew_engine *engine;
    enum cw_engine_step step;
    struct cachew_engine_request request; /* its texts are copies */
    struct cachew_engine_answer answer;
    int verdict;
    cw_engine_fn *fn;
    void *arg;
};

static void free_run(struct run *run)
{
    const char *const texts[] = {run->request.name_space, run->request.name, run->request.uid,
                                 run->request.options,    run->request.root, run->request.url};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free((void *)(uintptr_t)texts[i]);
    cw_mem_free(run);
}

static void on_done(void *arg)
{
    struct run *run = arg;
    run->runs->n--;
    run->fn(run->arg, run->verdict, &run->answer);
    free_run(run);
}

static void do_step(void *arg)
{
    struct run *run = arg;
    const struct cachew_engine *engine = run->engine;
    run->verdict = run->step == CW_ENGINE_PREPARE ? engine->prepare(&run->request, &run->answer)
                   : run->step == CW_ENGINE_OWNS  ? engine->owns(&run->request, &run->answer)
                                                  : engine->erase(&run->request, &run->answer);
    run->answer.reason[sizeof(run->answer.reason) - 1] = '\0';
    run->answer.message[sizeof(run->answer.message) - 1] = '\0';
    cw_loop_post(run->runs->loop, on_done, run);
}

struct cw_engine_runs *cw_engine_runs_new(struct cw_loop *loop)
{
    struct cw_engine_runs *runs = CW_NEW(struct cw_engine_runs);
    runs->loop = loop;
    return runs;
}

bool cw_engine_runs_free(struct cw_engine_runs *runs)
{
    if (runs && runs->n > 0)
        return false;
    cw_mem_free(runs);
    return true;
}

size_t cw_engine_runs_n(const struct cw_engine_runs *runs)
{
    return runs->n;
}

bool cw_engine_run(struct cw_engine_runs *runs, const struct cachew_engine *engine,
                   enum cw_engine_step step, const struct cachew_engine_request *request,
                   cw_engine_fn *fn, void *arg)
{
    if (runs->n >= RUNS_MAX)
        return false;
    struct run *run = CW_NEW(struct run);
    struct cw_thread thread = {0};
    *run = (struct run){.runs = runs, .engine = engine, .step = step, .fn = fn, .arg = arg};
    run->answer.struct_size = sizeof(run->answer);
    run->request = (struct cachew_engine_request){.struct_size = sizeof(run->request),
                                                  .name_space = cw_mem_strdup(request->name_space),
                                                  .name = cw_mem_strdup(request->name),
                                                  .uid = cw_mem_strdup(request->uid),
                                                  .options = cw_mem_strdup(request->options),
                                                  .root = cw_mem_strdup(request->root),
                                                  .url = cw_mem_strdup(request->url)};
    runs->n++;
    cw_thread_start(&thread, "cachew-engine", do_step, run);
    cw_thread_detach(&thread);
    return true;
}
