/* SPDX-License-Identifier: Apache-2.0 */
/* Writes arrays of the program where workers read them. */
#include <stdlib.h>
#include <string.h>
#include "client/python/py_api.h"

static int dtype_of(const char *name, enum cachew_dtype *ret_dtype)
{
    for (int i = 0; i <= CACHEW_BF16; i++) {
        *ret_dtype = (enum cachew_dtype)i;
        if (strcmp(name, cachew_dtype_name(*ret_dtype)) == 0)
            return 0;
    }
    PyErr_Format(PyExc_TypeError, "no dtype %s", name);
    return -1;
}

static int dims_of(PyObject *dims, struct cachew_tensor *tensor)
{
    Py_ssize_t n = PyTuple_Size(dims);
    if (n > CACHEW_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "array %s: %zd dimensions, more than %d", tensor->name, n,
                     CACHEW_RANK_MAX);
        return -1;
    }
    tensor->rank = (int)n;
    for (Py_ssize_t i = 0; i < n; i++)
        tensor->dims[i] = PyLong_AsLongLong(PyTuple_GetItem(dims, i));
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *write_tensor(const struct cachew_tensor *tensor, const char *directory)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    const char *op = NULL;
    char *pattern = NULL;
    int rc;
    Py_BEGIN_ALLOW_THREADS rc = cachew_array_write(tensor, directory, &op, &pattern, &error);
    Py_END_ALLOW_THREADS if (rc != 0) return cw_py_errors_raise(&error);
    PyObject *made = Py_BuildValue("(ss)", op, pattern);
    free(pattern);
    return made;
}

PyObject *cw_py_write_array(PyObject *module, PyObject *args)
{
    struct cachew_tensor tensor = {0};
    const char *dtype, *directory;
    PyObject *dims, *made = NULL;
    Py_buffer data = {0}, offsets = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "ssO!y*z*z:write_array", &tensor.name, &dtype, &PyTuple_Type, &dims,
                          &data, &offsets, &directory))
        return NULL;
    tensor.data = data.len > 0 ? data.buf : NULL;
    tensor.bytes = (size_t)data.len;
    tensor.offsets = offsets.buf;
    if (dtype_of(dtype, &tensor.dtype) == 0 && dims_of(dims, &tensor) == 0) {
        if (tensor.offsets && tensor.rank > 0 &&
            offsets.len / (Py_ssize_t)sizeof(int64_t) <= tensor.dims[0])
            PyErr_Format(PyExc_ValueError, "array %s: too few offsets", tensor.name);
        else
            made = write_tensor(&tensor, directory);
    }
    PyBuffer_Release(&data);
    if (offsets.obj)
        PyBuffer_Release(&offsets);
    return made;
}
