/* SPDX-License-Identifier: Apache-2.0 */
/* What a job tells about itself, as Python objects. */
#include "client/python/py_api.h"

static PyObject *u64(uint64_t value)
{
    return PyLong_FromUnsignedLongLong(value);
}
static PyObject *i64(int64_t value)
{
    return PyLong_FromLongLong(value);
}

PyObject *cw_py_job_views_stats(const struct cachew_job *job)
{
    static const char *const names[] = {
        "batches",          "elements",     "bytes",          "skipped",    "epoch",
        "epoch_batches",    "epoch_items",  "epoch_elements", "epoch_done", "duplicates",
        "shm_batches",      "grpc_batches", "copies",         "wait_ns",    "buffered_bytes",
        "buffered_batches", "workers",      "lost_items",     "reconnects"};
    struct cachew_job_stats s = CACHEW_JOB_STATS_INIT;
    struct cachew_error error = {CACHEW_E_STATE, "the job is closed, or is of another process"};
    if (cachew_job_stats(job, &s) != 0)
        return cw_py_errors_raise(&error);
    PyObject *values[] = {
        u64(s.batches),          u64(s.elements),       u64(s.bytes),
        u64(s.skipped),          u64(s.epoch),          u64(s.epoch_batches),
        i64(s.epoch_items),      i64(s.epoch_elements), PyFloat_FromDouble(s.epoch_done),
        u64(s.duplicates),       u64(s.shm_batches),    u64(s.grpc_batches),
        u64(s.copies),           u64(s.wait_ns),        u64(s.buffered_bytes),
        u64(s.buffered_batches), u64(s.workers),        u64(s.lost_items),
        u64(s.reconnects)};
    return cw_py_types_dict(names, values, sizeof(names) / sizeof(names[0]));
}

PyObject *cw_py_job_views_waiting(const struct cachew_job *job)
{
    struct cachew_waiting waiting = CACHEW_WAITING_INIT;
    struct cachew_error error = {CACHEW_E_STATE, "the job is closed, or is of another process"};
    if (cachew_job_waiting(job, &waiting) != 0)
        return cw_py_errors_raise(&error);
    return Py_BuildValue("(iLs)", waiting.kind, (long long)waiting.since_ms, waiting.text);
}

static PyObject *bad_element(const struct cachew_bad_element *e)
{
    static const char *const names[] = {"epoch",  "batch",  "elements", "position", "file",
                                        "record", "source", "node",     "op",       "reason"};
    PyObject *values[] = {u64(e->epoch),
                          u64(e->batch),
                          u64(e->elements),
                          i64(e->position),
                          PyUnicode_FromString(e->file),
                          i64(e->record),
                          PyUnicode_FromString(e->source),
                          PyUnicode_FromString(e->node),
                          PyUnicode_FromString(e->op),
                          PyUnicode_FromString(e->reason)};
    return cw_py_types_dict(names, values, sizeof(names) / sizeof(names[0]));
}

PyObject *cw_py_job_views_bad(const struct cachew_job *job)
{
    PyObject *list = PyList_New(0);
    struct cachew_bad_element element = CACHEW_BAD_ELEMENT_INIT;
    for (size_t i = 0; list && cachew_job_bad(job, i, &element) == 0; i++) {
        PyObject *row = bad_element(&element);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *cw_py_job_views_token(struct cachew_job *job, int with_last)
{
    char small[CACHEW_TOKEN_BYTES];
    size_t bytes = 0;
    struct cachew_error error = CACHEW_ERROR_INIT;
    int rc = cachew_job_token(job, with_last, small, sizeof(small), &bytes, &error);
    if (rc == 0)
        return PyBytes_FromStringAndSize(small, (Py_ssize_t)bytes);
    if (rc == CACHEW_E_UNSUPPORTED)
        Py_RETURN_NONE;
    if (rc != CACHEW_E_INVALID || bytes <= sizeof(small))
        return cw_py_errors_raise(&error);
    PyObject *large = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (large && cachew_job_token(job, with_last, PyBytes_AsString(large), bytes, &bytes, &error)) {
        Py_DECREF(large);
        return cw_py_errors_raise(&error);
    }
    return large;
}
