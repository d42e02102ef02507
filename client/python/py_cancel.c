/* SPDX-License-Identifier: Apache-2.0 */
/* The type Cancel: a switch that ends calls that wait. */
#include "client/python/py_api.h"

struct cancel {
    PyObject_HEAD struct cachew_cancel *cancel;
};

static PyTypeObject *cancel_type;

static PyObject *cancel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    struct cancel *self = cw_py_types_alloc(type);
    if (self)
        self->cancel = cachew_cancel_new();
    return (PyObject *)self;
}

static void cancel_dealloc(PyObject *object)
{
    cachew_cancel_free(((struct cancel *)object)->cancel);
    cw_py_types_free(object);
}

static PyObject *cancel_set(PyObject *object, PyObject *none)
{
    (void)none;
    cachew_cancel_set(((struct cancel *)object)->cancel);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set", cancel_set, METH_NOARGS, "set()\n--\n\nEnds the calls that were given it."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Cancel()\n--\n\nA switch that ends calls that wait."},
    {Py_tp_new, cancel_new},
    {Py_tp_dealloc, cancel_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"libcachew._cachew.Cancel", sizeof(struct cancel), 0, Py_TPFLAGS_DEFAULT,
                           slots};

int cw_py_cancel_init(PyObject *module)
{
    cancel_type = cw_py_types_add(module, &spec);
    return cancel_type ? 0 : -1;
}

int cw_py_cancel_of(PyObject *object, struct cachew_cancel **ret_cancel)
{
    *ret_cancel = NULL;
    if (object == Py_None)
        return 0;
    if (!Py_IS_TYPE(object, cancel_type)) {
        PyErr_SetString(PyExc_TypeError, "a Cancel is wanted");
        return -1;
    }
    *ret_cancel = ((struct cancel *)object)->cancel;
    return 0;
}
