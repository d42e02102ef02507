/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of a tensor as Python objects. They are copied. */
#include "client/python/py_api.h"

static PyObject *string(const struct cachew_tensor *tensor, int64_t i, const char *encoding)
{
    const char *data = tensor->data;
    int64_t from = tensor->offsets ? tensor->offsets[i] : 0;
    int64_t to = tensor->offsets ? tensor->offsets[i + 1] : 0;
    const char *begin = to > from ? data + from : "";
    return encoding ? PyUnicode_Decode(begin, (Py_ssize_t)(to - from), encoding, "strict")
                    : PyBytes_FromStringAndSize(begin, (Py_ssize_t)(to - from));
}

/* The strings from *at on, as dimension d arranges them. */
static PyObject *nested(const struct cachew_tensor *tensor, int d, int64_t *at,
                        const char *encoding)
{
    if (d == tensor->rank)
        return string(tensor, (*at)++, encoding);
    PyObject *list = PyList_New((Py_ssize_t)tensor->dims[d]);
    for (int64_t i = 0; list && i < tensor->dims[d]; i++) {
        PyObject *item = nested(tensor, d + 1, at, encoding);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *cw_py_strings_list(const struct cachew_tensor *tensor, const char *encoding)
{
    int64_t at = 0;
    return nested(tensor, 0, &at, encoding);
}
