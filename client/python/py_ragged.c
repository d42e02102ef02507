/* SPDX-License-Identifier: Apache-2.0 */
/* Ragged arrays: where rows begin, which shapes they have, and the rows as a list. */
#include "client/python/py_api.h"

int cw_py_ragged_describe(const struct cw_py_array *array, struct cachew_tensor *ret_begins,
                          struct cachew_tensor *ret_shapes)
{
    return cachew_batch_ragged(array->batch->batch, array->index, ret_begins, ret_shapes) == 0;
}

/* Row r of `values`, in its shape. */
static PyObject *row(PyObject *values, const int64_t *begins, const struct cachew_tensor *shapes,
                     Py_ssize_t r)
{
    PyObject *part = PySequence_GetSlice(values, (Py_ssize_t)begins[r], (Py_ssize_t)begins[r + 1]);
    if (!part || !shapes->name)
        return part;
    int rank = (int)shapes->dims[1];
    const int64_t *dims = (const int64_t *)shapes->data + (size_t)r * (size_t)rank;
    PyObject *shape = cw_py_types_dims(dims, rank);
    PyObject *shaped = shape ? PyObject_CallMethod(part, "reshape", "O", shape) : NULL;
    Py_XDECREF(shape);
    Py_DECREF(part);
    return shaped;
}

static PyObject *rows_of(PyObject *values, const struct cachew_tensor *begins,
                         const struct cachew_tensor *shapes)
{
    Py_ssize_t n = (Py_ssize_t)begins->dims[0] - 1;
    PyObject *list = PyList_New(n);
    for (Py_ssize_t r = 0; list && r < n; r++) {
        PyObject *one = row(values, begins->data, shapes, r);
        if (!one || PyList_SetItem(list, r, one) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *cw_py_ragged_rows(PyObject *object, PyObject *none)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    struct cachew_tensor begins, shapes;
    (void)none;
    PyObject *values = PyObject_CallMethod(object, "numpy", NULL);
    if (!values)
        return NULL;
    PyObject *list = cw_py_ragged_describe(self, &begins, &shapes)
                         ? rows_of(values, &begins, &shapes)
                         : PySequence_List(values);
    Py_DECREF(values);
    return list;
}
