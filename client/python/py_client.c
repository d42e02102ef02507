/* SPDX-License-Identifier: Apache-2.0 */
/* The type Client: a connection to a dispatcher. */
#include <stddef.h>
#include "client/python/py_api.h"

struct client {
    PyObject_HEAD struct cw_py_link *link; /* NULL = closed */
};

static PyTypeObject *client_type;

#define ROW(type, member)                                                                          \
    {                                                                                              \
#member, type, offsetof(struct cachew_connect_options, member), NULL                       \
    }
static const struct cw_py_option rows[] = {
    ROW(CW_PY_I64, timeout_ms),    ROW(CW_PY_INT, local_workers),
    ROW(CW_PY_INT, local_threads), ROW(CW_PY_FLAG, no_shared_memory),
    ROW(CW_PY_STR, state_dir),     ROW(CW_PY_STR, cache_store),
    ROW(CW_PY_U64, cache_quota),   ROW(CW_PY_STR, token),
    ROW(CW_PY_STR, token_file),    ROW(CW_PY_FLAG, writable),
    ROW(CW_PY_STR, tls_cert),      ROW(CW_PY_STR, tls_key),
    ROW(CW_PY_STR, tls_ca),        ROW(CW_PY_STR, tls_roles),
    ROW(CW_PY_STR, python),        ROW(CW_PY_STR, plugins),
    {NULL, CW_PY_STR, 0, NULL},
};

static PyObject *connect_with(const char *address, const struct cachew_connect_options *options)
{
    struct cachew_client *client = NULL;
    struct cw_py_link *link = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    /* Libraries write into arrays that say that they are read-only (torch.from_numpy): that must
     * neither end the process nor be seen by others, so memory is always mapped privately. */
    struct cachew_connect_options private = *options;
    int rc;
    private.writable = 1;
    Py_BEGIN_ALLOW_THREADS rc = cachew_connect(address, &private, &client, &error);
    if (rc == 0)
        link = cw_py_link_new(client, options->writable);
    Py_END_ALLOW_THREADS if (rc != 0) return cw_py_errors_raise(&error);
    struct client *self = link ? cw_py_types_alloc(client_type) : NULL;
    if (self)
        self->link = link;
    else
        cw_py_link_unref(link);
    return link ? (PyObject *)self : PyErr_NoMemory();
}

/* connect(address, options, cancel): the Python layer has checked how it is called. */
static PyObject *connect_call(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const char *address;
    PyObject *dict, *switch_object;
    struct cachew_cancel *cancel;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    (void)type;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "zO!O:Client", &address, &PyDict_Type, &dict, &switch_object) ||
        cw_py_cancel_of(switch_object, &cancel) < 0 || cw_py_options_set(rows, &options, dict) < 0)
        return NULL;
    options.cancel = cancel;
    return connect_with(address, &options);
}

static PyObject *client_close(PyObject *object, PyObject *none)
{
    struct client *self = (struct client *)object;
    struct cw_py_link *link = self->link;
    (void)none;
    self->link = NULL;
    Py_BEGIN_ALLOW_THREADS cw_py_link_unref(link);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static void client_dealloc(PyObject *object)
{
    Py_DECREF(client_close(object, NULL));
    cw_py_types_free(object);
}

struct cw_py_link *cw_py_client_link(PyObject *object)
{
    const struct cachew_error closed = {CACHEW_E_STATE, "the connection is closed"};
    if (!Py_IS_TYPE(object, client_type))
        PyErr_SetString(PyExc_TypeError, "a Client is wanted");
    else if (!((struct client *)object)->link)
        cw_py_errors_raise(&closed);
    else
        return ((struct client *)object)->link;
    return NULL;
}

static PyObject *client_check(PyObject *object, PyObject *pipeline_object)
{
    struct cw_py_link *link = cw_py_client_link(object);
    struct cachew_pipeline *pipeline = link ? cw_py_pipeline_of(pipeline_object) : NULL;
    struct cachew_spec *spec = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    int rc;
    if (!pipeline)
        return NULL;
    cw_py_link_ref(link);
    Py_BEGIN_ALLOW_THREADS rc = cachew_pipeline_check(link->client, pipeline, &spec, &error);
    cw_py_link_unref(link);
    Py_END_ALLOW_THREADS PyObject *list =
        rc == 0 ? cw_py_pipeline_spec(spec) : cw_py_errors_raise(&error);
    cachew_spec_free(spec);
    return list;
}

static PyObject *client_address(PyObject *object, PyObject *none)
{
    struct cw_py_link *link = cw_py_client_link(object);
    (void)none;
    return link ? PyUnicode_FromString(cachew_client_address(link->client)) : NULL;
}

static PyMethodDef methods[] = {
    {"address", client_address, METH_NOARGS, "address()\n--\n\nThat of its dispatcher."},
    {"close", client_close, METH_NOARGS,
     "close()\n--\n\nEnds the connection when its last batch is gone."},
    {"check", client_check, METH_O,
     "check(pipeline)\n--\n\nWhether the dispatcher can run it; its spec."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Client(address, options, cancel)\n--\n\nA connection to a dispatcher."},
    {Py_tp_new, connect_call},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"libcachew._cachew.Client", sizeof(struct client), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int cw_py_client_init(PyObject *module)
{
    client_type = cw_py_types_add(module, &spec);
    return client_type ? 0 : -1;
}
