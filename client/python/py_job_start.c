/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a job, with every option of cachew_job_options by its name. */
#include <stddef.h>
#include "client/python/py_api.h"

static const char *const bad_words[] = {"fail", "skip", NULL};
static const char *const mode_words[] = {"single", "coordinated", "shared", NULL};

#define ROW(type, member)                                                                          \
    {                                                                                              \
#member, type, offsetof(struct cachew_job_options, member), NULL                           \
    }
#define WORDS(member, words)                                                                       \
    {                                                                                              \
#member, CW_PY_WORD, offsetof(struct cachew_job_options, member), words                    \
    }
static const struct cw_py_option rows[] = {
    ROW(CW_PY_STR, name),         ROW(CW_PY_U64, seed),           ROW(CW_PY_U64, epochs),
    ROW(CW_PY_FLAG, unordered),   WORDS(bad_elements, bad_words), ROW(CW_PY_U64, buffer_bytes),
    ROW(CW_PY_U32, window),       WORDS(mode, mode_words),        ROW(CW_PY_U32, consumers),
    ROW(CW_PY_U32, consumer),     ROW(CW_PY_FLAG, at_most_once),  ROW(CW_PY_U64, lease_items),
    ROW(CW_PY_STR, autocache),    ROW(CW_PY_STR, tenant),         ROW(CW_PY_STR, autoscale),
    ROW(CW_PY_STR, autoplace),    ROW(CW_PY_U32, min_workers),    ROW(CW_PY_U32, max_workers),
    ROW(CW_PY_INT, priority),     ROW(CW_PY_F64, weight),         ROW(CW_PY_F64, max_stall),
    ROW(CW_PY_F64, client_price), ROW(CW_PY_U32, local_workers),  ROW(CW_PY_U32, local_threads),
    ROW(CW_PY_INT, local_nice),   ROW(CW_PY_F64, local_cpus),     ROW(CW_PY_U64, local_memory),
    ROW(CW_PY_STR, identity),     ROW(CW_PY_STR, cache),          ROW(CW_PY_STR, optimize),
    ROW(CW_PY_STR, plan),         ROW(CW_PY_STR, profile),        ROW(CW_PY_FLAG, relaxed),
    ROW(CW_PY_STR, fusion),       {NULL, CW_PY_STR, 0, NULL},
};

/* Calls the Python function `arg` with what the start waits for. What it raises is only told. */
static void on_waiting(void *arg, const struct cachew_waiting *waiting)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *result = PyObject_CallFunction(arg, "iLs", waiting->kind,
                                             (long long)waiting->since_ms, waiting->text);
    if (!result)
        PyErr_WriteUnraisable(arg);
    Py_XDECREF(result);
    PyGILState_Release(state);
}

static PyObject *start_with(struct cw_py_link *link, const struct cachew_pipeline *pipeline,
                            const struct cachew_job_options *options)
{
    struct cachew_job *job = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    int rc;
    cw_py_link_ref(link); /* another thread may close the connection meanwhile */
    Py_BEGIN_ALLOW_THREADS rc = cachew_job_start(link->client, pipeline, options, &job, &error);
    Py_END_ALLOW_THREADS PyObject *made =
        rc == 0 ? cw_py_job_new(link, job) : cw_py_errors_raise(&error);
    Py_BEGIN_ALLOW_THREADS cw_py_link_unref(link);
    Py_END_ALLOW_THREADS return made;
}

PyObject *cw_py_job_start(PyObject *module, PyObject *args)
{
    PyObject *client, *pipeline_object, *dict, *waiting, *switch_object;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_cancel *cancel;
    Py_ssize_t token_bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO!z#OO:start", &client, &pipeline_object, &PyDict_Type, &dict,
                          &options.token, &token_bytes, &waiting, &switch_object))
        return NULL;
    struct cw_py_link *link = cw_py_client_link(client);
    struct cachew_pipeline *pipeline = link ? cw_py_pipeline_of(pipeline_object) : NULL;
    if (!pipeline || cw_py_cancel_of(switch_object, &cancel) < 0 ||
        cw_py_options_set(rows, &options, dict) < 0)
        return NULL;
    options.token_bytes = (size_t)token_bytes;
    options.cancel = cancel;
    options.on_waiting = waiting == Py_None ? NULL : on_waiting;
    options.on_waiting_arg = waiting;
    return start_with(link, pipeline, &options);
}
