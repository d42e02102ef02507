/* SPDX-License-Identifier: Apache-2.0 */
/* The type Pipeline: a pipeline as the library holds it, made of its text. */
#include <stdlib.h>
#include "client/python/py_api.h"

struct pipeline {
    PyObject_HEAD struct cachew_pipeline *pipeline;
};

static PyTypeObject *pipeline_type;

static PyObject *pipeline_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const char *json;
    Py_ssize_t length;
    struct cachew_pipeline *made = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    if (kwargs && PyDict_Size(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Pipeline() takes no keyword arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "s#:Pipeline", &json, &length))
        return NULL;
    if (cachew_pipeline_parse(json, (size_t)length, &made, &error) != 0)
        return cw_py_errors_raise(&error);
    struct pipeline *self = cw_py_types_alloc(type);
    if (!self)
        cachew_pipeline_release(made);
    else
        self->pipeline = made;
    return (PyObject *)self;
}

static void pipeline_dealloc(PyObject *object)
{
    cachew_pipeline_release(((struct pipeline *)object)->pipeline);
    cw_py_types_free(object);
}

static PyObject *pipeline_text(PyObject *object, PyObject *none)
{
    (void)none;
    char *text = cachew_pipeline_text(((struct pipeline *)object)->pipeline);
    PyObject *made = text ? PyUnicode_FromString(text) : PyErr_NoMemory();
    free(text);
    return made;
}

static PyMethodDef methods[] = {
    {"text", pipeline_text, METH_NOARGS, "text()\n--\n\nThe text form, JSON."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Pipeline(json)\n--\n\nA pipeline of its text form."},
    {Py_tp_new, pipeline_new},
    {Py_tp_dealloc, pipeline_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};
static PyType_Spec spec = {"libcachew._cachew.Pipeline", sizeof(struct pipeline), 0,
                           Py_TPFLAGS_DEFAULT, slots};

int cw_py_pipeline_init(PyObject *module)
{
    pipeline_type = cw_py_types_add(module, &spec);
    return pipeline_type ? 0 : -1;
}

struct cachew_pipeline *cw_py_pipeline_of(PyObject *object)
{
    if (Py_IS_TYPE(object, pipeline_type))
        return ((struct pipeline *)object)->pipeline;
    PyErr_SetString(PyExc_TypeError, "a Pipeline is wanted");
    return NULL;
}

PyObject *cw_py_pipeline_spec(const struct cachew_spec *of)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < cachew_spec_fields(of); i++) {
        struct cachew_field field = CACHEW_FIELD_INIT;
        (void)cachew_spec_field(of, i, &field);
        PyObject *dims = cw_py_types_dims(field.dims, field.rank);
        PyObject *row =
            dims ? Py_BuildValue("(ssN)", field.name, cachew_dtype_name(field.dtype), dims) : NULL;
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}
