/* SPDX-License-Identifier: Apache-2.0 */
/* One exception for each code of cachew/error.h. Each is an Error, and what Python calls such a
 * thing where it has a name for it. */
#include "client/python/py_api.h"

struct row {
    int code;
    const char *name;
    PyObject **base; /* of Python, besides Error; NULL = none */
    const char *doc;
    PyObject *made;
};

static PyObject *error_class;
static struct row rows[] = {
    {CACHEW_E_INVALID, "libcachew.InvalidError", &PyExc_ValueError,
     "An argument, an option or a pipeline is wrong.", NULL},
    {CACHEW_E_NOT_FOUND, "libcachew.NotFoundError", &PyExc_FileNotFoundError,
     "There is no such file, job or thing.", NULL},
    {CACHEW_E_EXISTS, "libcachew.ExistsError", &PyExc_FileExistsError,
     "The name is taken by something else.", NULL},
    {CACHEW_E_DENIED, "libcachew.DeniedError", &PyExc_PermissionError,
     "The system, or the dispatcher, refuses access.", NULL},
    {CACHEW_E_NOMEM, "libcachew.NoMemoryError", &PyExc_MemoryError,
     "There is not enough memory for a batch or a file.", NULL},
    {CACHEW_E_LIMIT, "libcachew.LimitError", NULL, "A limit or a quota is reached.", NULL},
    {CACHEW_E_IO, "libcachew.IoError", &PyExc_OSError, "Reading or writing failed.", NULL},
    {CACHEW_E_CORRUPT, "libcachew.CorruptError", NULL, "Data are damaged.", NULL},
    {CACHEW_E_TIMEOUT, "libcachew.TimeoutError", &PyExc_TimeoutError,
     "The time limit of the call has passed; it may be called again.", NULL},
    {CACHEW_E_CANCELLED, "libcachew.CancelledError", NULL, "The job or the call was cancelled.",
     NULL},
    {CACHEW_E_UNAVAILABLE, "libcachew.UnavailableError", &PyExc_ConnectionError,
     "A dispatcher or worker cannot be reached.", NULL},
    {CACHEW_E_STATE, "libcachew.StateError", NULL,
     "Not possible with this object now, or in a forked child.", NULL},
    {CACHEW_E_UNSUPPORTED, "libcachew.UnsupportedError", &PyExc_NotImplementedError,
     "Not supported, for example by a peer of another version.", NULL},
    {CACHEW_E_INTERNAL, "libcachew.InternalError", NULL, "A mistake in cachew.", NULL},
    {CACHEW_E_OTHER_FILE, "libcachew.OtherFileError", NULL,
     "A source file is not the one that the job was prepared with.", NULL},
};

/* Adds a class under the last part of its name, with its code as the attribute `code`. */
static PyObject *add_class(PyObject *module, const struct row *row, PyObject *bases)
{
    PyObject *made = PyErr_NewExceptionWithDoc(row->name, row->doc, bases, NULL);
    PyObject *code = PyLong_FromLong(row->code);
    if (!made || !code || PyObject_SetAttrString(made, "code", code) < 0 ||
        PyModule_AddObjectRef(module, row->name + sizeof("libcachew.") - 1, made) < 0)
        Py_CLEAR(made);
    Py_XDECREF(code);
    return made;
}

static int add_row(PyObject *module, struct row *row)
{
    PyObject *bases =
        row->base ? PyTuple_Pack(2, error_class, *row->base) : PyTuple_Pack(1, error_class);
    if (!bases)
        return -1;
    row->made = add_class(module, row, bases);
    Py_DECREF(bases);
    return row->made ? 0 : -1;
}

int cw_py_errors_init(PyObject *module)
{
    const struct row all = {0, "libcachew.Error", NULL,
                            "What libcachew raises. `code` is the code of the C library.", NULL};
    error_class = add_class(module, &all, PyExc_Exception);
    if (!error_class)
        return -1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (add_row(module, &rows[i]) < 0)
            return -1;
    return 0;
}

PyObject *cw_py_errors_raise(const struct cachew_error *error)
{
    PyObject *raised = error_class;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].code == error->code)
            raised = rows[i].made;
    PyErr_SetString(raised, error->message);
    return NULL;
}
