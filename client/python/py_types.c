/* SPDX-License-Identifier: Apache-2.0 */
/* What all types of the module need. */
#include <string.h>
#include "client/python/py_api.h"

PyTypeObject *cw_py_types_add(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (!type)
        return NULL;
    const char *name = strrchr(spec->name, '.') + 1;
    if (PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type); /* The module has the reference that is given up otherwise. */
    return (PyTypeObject *)type;
}

void *cw_py_types_alloc(PyTypeObject *type)
{
    return PyType_GenericAlloc(type, 0);
}

void cw_py_types_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

PyObject *cw_py_types_dict(const char *const *names, PyObject *const *values, size_t n)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; i < n; i++) {
        if (dict && (!values[i] || PyDict_SetItemString(dict, names[i], values[i]) < 0))
            Py_CLEAR(dict);
        Py_XDECREF(values[i]);
    }
    return dict;
}

PyObject *cw_py_types_dims(const int64_t *dims, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int d = 0; tuple && d < n; d++) {
        PyObject *value = PyLong_FromLongLong(dims[d]);
        if (!value || PyTuple_SetItem(tuple, d, value) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}
