/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of options from keyword arguments, by tables. */
#include <limits.h>
#include <string.h>
#include "client/python/py_api.h"

static int wrong(const char *name, const char *wanted)
{
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "option %s: must be %s", name, wanted);
    return -1;
}

static int set_unsigned(const struct cw_py_option *row, void *place, PyObject *value)
{
    PyObject *index = PyNumber_Index(value);
    unsigned long long number = index ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    if (PyErr_Occurred() || (row->type == CW_PY_U32 && number > UINT32_MAX))
        return wrong(row->name, "a whole number, not negative and not too large");
    uint32_t small = (uint32_t)number;
    if (row->type == CW_PY_U32)
        memcpy(place, &small, sizeof(small));
    else
        memcpy(place, &(uint64_t){number}, sizeof(uint64_t));
    return 0;
}

static int set_signed(const struct cw_py_option *row, void *place, PyObject *value)
{
    PyObject *index = PyNumber_Index(value);
    long long number = index ? PyLong_AsLongLong(index) : 0;
    Py_XDECREF(index);
    if (PyErr_Occurred() || (row->type == CW_PY_INT && (number < INT_MIN || number > INT_MAX)))
        return wrong(row->name, "a whole number that is not too large");
    int small = (int)number;
    if (row->type == CW_PY_INT)
        memcpy(place, &small, sizeof(small));
    else
        memcpy(place, &(int64_t){number}, sizeof(int64_t));
    return 0;
}

static int set_flag(const struct cw_py_option *row, void *place, PyObject *value)
{
    int flag = PyObject_IsTrue(value);
    if (flag < 0)
        return wrong(row->name, "true or false");
    memcpy(place, &flag, sizeof(flag));
    return 0;
}

static int set_f64(const struct cw_py_option *row, void *place, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        return wrong(row->name, "a number");
    memcpy(place, &number, sizeof(number));
    return 0;
}

/* The text of a str, which keeps it; NULL without an exception if it is none, or has a NUL in it. */
static const char *text_of(PyObject *value)
{
    Py_ssize_t length = 0;
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &length) : NULL;
    PyErr_Clear();
    return text && strlen(text) == (size_t)length ? text : NULL;
}

static int set_str(const struct cw_py_option *row, void *place, PyObject *value)
{
    const char *text = text_of(value);
    if (!text)
        return wrong(row->name, "a string without NUL characters");
    memcpy(place, &text, sizeof(text));
    return 0;
}

static int set_word(const struct cw_py_option *row, void *place, PyObject *value)
{
    const char *text = text_of(value);
    for (int i = 0; text && row->words[i]; i++)
        if (strcmp(row->words[i], text) == 0) {
            memcpy(place, &i, sizeof(i));
            return 0;
        }
    const char *third = row->words[2]; /* no option has more */
    PyErr_Format(PyExc_ValueError, "option %s: %R is none of its words (%s, %s%s%s)", row->name,
                 value, row->words[0], row->words[1], third ? ", " : "", third ? third : "");
    return -1;
}

static int set_one(const struct cw_py_option *row, void *target, PyObject *value)
{
    void *place = (char *)target + row->offset;
    switch (row->type) {
    case CW_PY_FLAG:
        return set_flag(row, place, value);
    case CW_PY_INT:
    case CW_PY_I64:
        return set_signed(row, place, value);
    case CW_PY_U32:
    case CW_PY_U64:
        return set_unsigned(row, place, value);
    case CW_PY_F64:
        return set_f64(row, place, value);
    case CW_PY_STR:
        return set_str(row, place, value);
    case CW_PY_WORD:
        return set_word(row, place, value);
    }
    return -1;
}

int cw_py_options_set(const struct cw_py_option *rows, void *target, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = text_of(key);
        const struct cw_py_option *row = rows;
        while (row->name && (!name || strcmp(row->name, name) != 0))
            row++;
        if (!row->name) {
            PyErr_Format(PyExc_TypeError, "there is no option %R", key);
            return -1;
        }
        if (value != Py_None && set_one(row, target, value) < 0)
            return -1;
    }
    return 0;
}
