/* SPDX-License-Identifier: Apache-2.0 */
/* The type Job. The library wants one thread at a time in most functions of a job: `busy` is set
 * while a thread that has released the GIL is in one, and others are refused with StateError.
 * close() of another thread cancels the job, and the thread that is busy then closes it. */
#include <stdio.h>
#include <time.h>
#include "client/python/py_api.h"

struct job {
    PyObject_HEAD struct cw_py_link *link; /* one reference */
    struct cachew_job *job;                /* NULL = closed */
    int busy, closing;                     /* under the GIL */
};

/* How long the GIL is released at a time, so that a signal is seen soon. */
#define SLICE_MS 50

static PyTypeObject *job_type;

PyObject *cw_py_job_new(struct cw_py_link *link, struct cachew_job *job)
{
    struct job *self = cw_py_types_alloc(job_type);
    if (!self) {
        cachew_job_close(job);
        return NULL;
    }
    self->link = cw_py_link_ref(link);
    self->job = job;
    return (PyObject *)self;
}

static void close_now(struct job *self)
{
    struct cachew_job *job = self->job;
    struct cw_py_link *link = self->link;
    self->job = NULL;
    self->link = NULL;
    Py_BEGIN_ALLOW_THREADS cachew_job_close(job);
    cw_py_link_unref(link);
    Py_END_ALLOW_THREADS
}

static PyObject *job_close(PyObject *object, PyObject *none)
{
    struct job *self = (struct job *)object;
    (void)none;
    if (!self->busy) {
        close_now(self);
    } else if (!self->closing) {
        self->closing = 1;
        cachew_job_cancel(self->job);
    }
    Py_RETURN_NONE;
}

static void job_dealloc(PyObject *object)
{
    close_now((struct job *)object);
    cw_py_types_free(object);
}

/* The job, for a thread that may use it alone; NULL with an exception. */
static struct cachew_job *job_of(struct job *self)
{
    const struct cachew_error closed = {CACHEW_E_STATE, "the job is closed"};
    const struct cachew_error used = {CACHEW_E_STATE, "another thread uses the job"};
    if (self->busy)
        cw_py_errors_raise(&used);
    else if (!self->job)
        cw_py_errors_raise(&closed);
    else
        return self->job;
    return NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* cachew_job_next in slices, with signals handled between them. *ret_signal: a handler raised. */
static int next_sliced(struct cachew_job *job, int64_t timeout_ms, struct cachew_batch **ret_batch,
                       struct cachew_error *error, int *ret_signal)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
    for (;;) {
        int64_t left = end == INT64_MAX ? end : end - now_ms();
        int64_t slice = left < 0 ? 0 : left < SLICE_MS ? left : SLICE_MS;
        int rc;
        Py_BEGIN_ALLOW_THREADS rc = cachew_job_next(job, slice, ret_batch, error);
        Py_END_ALLOW_THREADS if (rc != CACHEW_E_TIMEOUT || left <= slice) return rc;
        if (PyErr_CheckSignals() < 0) {
            *ret_signal = 1;
            return rc;
        }
    }
}

/* The error of a time limit that was waited for in slices. */
static void tell_timeout(const struct cachew_job *job, int64_t timeout_ms,
                         struct cachew_error *error)
{
    struct cachew_waiting waiting = CACHEW_WAITING_INIT;
    (void)cachew_job_waiting(job, &waiting);
    snprintf(error->message, sizeof(error->message), "no batch came within %lld ms%s%s",
             (long long)timeout_ms, waiting.text[0] ? ": " : "", waiting.text);
}

static PyObject *given(struct job *self, int rc, struct cachew_batch *batch,
                       const struct cachew_error *error)
{
    if (rc < 0)
        return cw_py_errors_raise(error);
    if (rc == 0)
        Py_RETURN_NONE;
    PyObject *token = cw_py_job_views_token(self->job, 1);
    if (!token) {
        cachew_batch_release(batch);
        return NULL;
    }
    return cw_py_batch_new(self->link, batch, token);
}

static int timeout_of(PyObject *value, int64_t *ret_ms)
{
    *ret_ms = -1;
    if (value == Py_None)
        return 0;
    double seconds = PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        return -1;
    if (!(seconds >= 0 && seconds < 1e12)) {
        PyErr_SetString(PyExc_ValueError, "timeout: must be seconds, not negative, or None");
        return -1;
    }
    *ret_ms = (int64_t)(seconds * 1000);
    return 0;
}

static PyObject *job_next(PyObject *object, PyObject *timeout)
{
    struct job *self = (struct job *)object;
    struct cachew_job *job = job_of(self);
    struct cachew_batch *batch = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    int64_t timeout_ms;
    int signal = 0;
    if (!job || timeout_of(timeout, &timeout_ms) < 0)
        return NULL;
    self->busy = 1;
    int rc = next_sliced(job, timeout_ms, &batch, &error, &signal);
    self->busy = 0;
    if (rc == CACHEW_E_TIMEOUT)
        tell_timeout(job, timeout_ms, &error);
    PyObject *result = signal ? NULL : given(self, rc, batch, &error);
    if (self->closing)
        close_now(self);
    return result;
}

static PyObject *job_cancel(PyObject *object, PyObject *none)
{
    (void)none;
    cachew_job_cancel(((struct job *)object)->job);
    Py_RETURN_NONE;
}

static PyObject *job_token(PyObject *object, PyObject *with_last)
{
    struct cachew_job *job = job_of((struct job *)object);
    int with = job ? PyObject_IsTrue(with_last) : -1;
    return with < 0 ? NULL : cw_py_job_views_token(job, with);
}

static PyObject *job_stats(PyObject *object, PyObject *none)
{
    (void)none;
    return cw_py_job_views_stats(((struct job *)object)->job);
}

static PyObject *job_waiting(PyObject *object, PyObject *none)
{
    (void)none;
    return cw_py_job_views_waiting(((struct job *)object)->job);
}

static PyObject *job_bad(PyObject *object, PyObject *none)
{
    struct cachew_job *job = job_of((struct job *)object);
    (void)none;
    return job ? cw_py_job_views_bad(job) : NULL;
}

static PyObject *job_spec(PyObject *object, PyObject *none)
{
    (void)none;
    return cw_py_pipeline_spec(cachew_job_spec(((struct job *)object)->job));
}

static PyObject *job_fileno(PyObject *object, PyObject *none)
{
    struct cachew_job *job = job_of((struct job *)object);
    struct cachew_error error = CACHEW_ERROR_INIT;
    (void)none;
    if (!job)
        return NULL;
    int fd = cachew_job_fd(job, &error);
    return fd < 0 ? cw_py_errors_raise(&error) : PyLong_FromLong(fd);
}

static PyObject *get_done(PyObject *object, void *none)
{
    (void)none;
    return PyBool_FromLong(cachew_job_done(((struct job *)object)->job));
}

static PyObject *get_closed(PyObject *object, void *none)
{
    (void)none;
    return PyBool_FromLong(((struct job *)object)->job == NULL);
}

static PyObject *get_id(PyObject *object, void *none)
{
    (void)none;
    return PyUnicode_FromString(cachew_job_id(((struct job *)object)->job));
}

static PyMethodDef methods[] = {
    {"next", job_next, METH_O,
     "next(timeout)\n--\n\nThe next batch, or None at the end of an epoch."},
    {"close", job_close, METH_NOARGS, "close()\n--\n\nEnds this consumer."},
    {"cancel", job_cancel, METH_NOARGS, "cancel()\n--\n\nEnds a next() that waits."},
    {"token", job_token, METH_O, "token(with_last)\n--\n\nThe position, as bytes."},
    {"stats", job_stats, METH_NOARGS, "stats()\n--\n\nCounters, by name."},
    {"waiting", job_waiting, METH_NOARGS, "waiting()\n--\n\n(kind, milliseconds, text)."},
    {"bad", job_bad, METH_NOARGS, "bad()\n--\n\nBad elements left out of the last batch."},
    {"spec", job_spec, METH_NOARGS, "spec()\n--\n\n[(name, dtype, dims)]."},
    {"fileno", job_fileno, METH_NOARGS, "fileno()\n--\n\nReadable while next() would not wait."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getters[] = {
    {"done", get_done, NULL, "Whether the last epoch has ended.", NULL},
    {"closed", get_closed, NULL, "Whether close() was called.", NULL},
    {"id", get_id, NULL, "The id by which the dispatcher knows the job.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A job that was started."},
    {Py_tp_dealloc, job_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {0, NULL},
};
static PyType_Spec spec = {"libcachew._cachew.Job", sizeof(struct job), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int cw_py_job_init(PyObject *module)
{
    job_type = cw_py_types_add(module, &spec);
    return job_type ? 0 : -1;
}
