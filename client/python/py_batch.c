/* SPDX-License-Identifier: Apache-2.0 */
/* The type Batch: a mapping of names to arrays. Its memory is given back when the last array over it
 * is gone; each array holds the batch. */
#include <string.h>
#include "client/python/py_api.h"

static PyTypeObject *batch_type;

PyObject *cw_py_batch_new(struct cw_py_link *link, struct cachew_batch *batch, PyObject *token)
{
    struct cw_py_batch *self = cw_py_types_alloc(batch_type);
    if (!self) {
        cachew_batch_release(batch);
        Py_DECREF(token);
        return NULL;
    }
    self->batch = batch;
    self->link = cw_py_link_ref(link);
    self->token = token;
    return (PyObject *)self;
}

static void batch_dealloc(PyObject *object)
{
    struct cw_py_batch *self = (struct cw_py_batch *)object;
    Py_XDECREF(self->token);
    Py_BEGIN_ALLOW_THREADS cachew_batch_release(self->batch);
    cw_py_link_unref(self->link);
    Py_END_ALLOW_THREADS cw_py_types_free(object);
}

static Py_ssize_t batch_length(PyObject *object)
{
    return (Py_ssize_t)cachew_batch_tensors(((struct cw_py_batch *)object)->batch);
}

/* The number of the tensor with this name; -1 if there is none, -2 with an exception. */
static Py_ssize_t find(struct cw_py_batch *self, PyObject *name)
{
    struct cachew_tensor tensor;
    if (!PyUnicode_Check(name))
        return -1;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!text)
        return -2;
    for (size_t i = 0; cachew_batch_tensor(self->batch, i, &tensor) == 0; i++)
        if (strcmp(text, tensor.name) == 0)
            return (Py_ssize_t)i;
    return -1;
}

static PyObject *batch_get(PyObject *object, PyObject *name)
{
    struct cw_py_batch *self = (struct cw_py_batch *)object;
    Py_ssize_t i = find(self, name);
    if (i >= 0)
        return cw_py_array_new(self, (size_t)i);
    if (i == -1)
        PyErr_SetObject(PyExc_KeyError, name);
    return NULL;
}

static int batch_contains(PyObject *object, PyObject *name)
{
    Py_ssize_t i = find((struct cw_py_batch *)object, name);
    return i == -2 ? -1 : i >= 0;
}

/* A list of what `make` makes of each tensor. */
static PyObject *list_of(PyObject *object, PyObject *(*make)(struct cw_py_batch *self, size_t i))
{
    struct cw_py_batch *self = (struct cw_py_batch *)object;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < cachew_batch_tensors(self->batch); i++) {
        PyObject *made = make(self, i);
        if (!made || PyList_Append(list, made) < 0)
            Py_CLEAR(list);
        Py_XDECREF(made);
    }
    return list;
}

static PyObject *make_name(struct cw_py_batch *self, size_t i)
{
    struct cachew_tensor tensor;
    (void)cachew_batch_tensor(self->batch, i, &tensor);
    return PyUnicode_FromString(tensor.name);
}

static PyObject *make_item(struct cw_py_batch *self, size_t i)
{
    PyObject *name = make_name(self, i), *array = cw_py_array_new(self, i);
    PyObject *pair = name && array ? PyTuple_Pack(2, name, array) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(array);
    return pair;
}

static PyObject *batch_keys(PyObject *object, PyObject *none)
{
    (void)none;
    return list_of(object, make_name);
}

static PyObject *batch_values(PyObject *object, PyObject *none)
{
    (void)none;
    return list_of(object, cw_py_array_new);
}

static PyObject *batch_items(PyObject *object, PyObject *none)
{
    (void)none;
    return list_of(object, make_item);
}

static PyObject *batch_iter(PyObject *object)
{
    PyObject *names = list_of(object, make_name);
    PyObject *iterator = names ? PyObject_GetIter(names) : NULL;
    Py_XDECREF(names);
    return iterator;
}

static PyObject *batch_get_or(PyObject *object, PyObject *args)
{
    PyObject *name, *other = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:get", &name, &other))
        return NULL;
    Py_ssize_t i = find((struct cw_py_batch *)object, name);
    if (i >= 0)
        return cw_py_array_new((struct cw_py_batch *)object, (size_t)i);
    return i == -2 ? NULL : Py_NewRef(other);
}

static PyObject *number(PyObject *object, void *which)
{
    static uint64_t (*const of[])(const struct cachew_batch *) = {
        cachew_batch_epoch, cachew_batch_number, cachew_batch_elements, cachew_batch_skipped};
    return PyLong_FromUnsignedLongLong(of[(size_t)which](((struct cw_py_batch *)object)->batch));
}

static PyObject *get_token(PyObject *object, void *none)
{
    (void)none;
    return Py_NewRef(((struct cw_py_batch *)object)->token);
}

static PyObject *get_recipe(PyObject *object, void *none)
{
    char text[160];
    (void)none;
    if (cachew_batch_recipe(((struct cw_py_batch *)object)->batch, text, sizeof(text)) != 0)
        Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

static PyObject *batch_repr(PyObject *object)
{
    struct cw_py_batch *self = (struct cw_py_batch *)object;
    PyObject *items = list_of(object, cw_py_array_new);
    PyObject *text =
        items ? PyUnicode_FromFormat("<Batch %llu of epoch %llu: %R>",
                                     (unsigned long long)cachew_batch_number(self->batch),
                                     (unsigned long long)cachew_batch_epoch(self->batch), items)
              : NULL;
    Py_XDECREF(items);
    return text;
}

static PyMethodDef methods[] = {
    {"keys", batch_keys, METH_NOARGS, "keys()\n--\n\nThe names of the fields, a list."},
    {"values", batch_values, METH_NOARGS, "values()\n--\n\nThe arrays, a list."},
    {"items", batch_items, METH_NOARGS, "items()\n--\n\nA list of (name, array)."},
    {"get", batch_get_or, METH_VARARGS,
     "get(name, default=None)\n--\n\nThe array, or default where there is none."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getters[] = {
    {"epoch", number, NULL, "Its epoch, from 0.", (void *)0},
    {"number", number, NULL, "Its number within its epoch, from 0.", (void *)1},
    {"elements", number, NULL, "The number of elements in it.", (void *)2},
    {"skipped", number, NULL, "Bad elements that were left out of it.", (void *)3},
    {"token", get_token, NULL,
     "The position behind this batch, bytes: run(token=...) goes on with the next one.", NULL},
    {"recipe", get_recipe, NULL, "The text that `cachew replay` takes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A batch: a mapping of names to arrays."},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_iter, batch_iter},
    {Py_tp_repr, batch_repr},
    {Py_mp_length, batch_length},
    {Py_mp_subscript, batch_get},
    {Py_sq_contains, batch_contains},
    {0, NULL},
};
static PyType_Spec spec = {"libcachew._cachew.Batch", sizeof(struct cw_py_batch), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int cw_py_batch_init(PyObject *module)
{
    batch_type = cw_py_types_add(module, &spec);
    return batch_type ? 0 : -1;
}
