/* SPDX-License-Identifier: Apache-2.0 */
/* The type Array: a tensor of a batch. Numbers are given by the buffer protocol and DLPack without a
 * copy; strings are copied to lists. */
#include <string.h>
#include "client/python/py_api.h"

static PyTypeObject *array_type;

/* What module struct calls the values of each type; NULL = strings. It has no name for bf16, whose bits
 * are given: DLPack says what they are. */
static char *const formats[] = {"B", "b", "H", "h", "I", "i",  "Q",
                                "q", "e", "f", "d", "?", NULL, "H"};

static PyObject *made_of(struct cw_py_batch *batch, size_t index,
                         const struct cachew_tensor *tensor)
{
    struct cw_py_array *self = cw_py_types_alloc(array_type);
    if (!self)
        return NULL;
    Py_INCREF((PyObject *)batch);
    self->batch = batch;
    self->index = index;
    self->tensor = *tensor;
    Py_ssize_t stride = (Py_ssize_t)cachew_dtype_bytes(self->tensor.dtype);
    for (int d = self->tensor.rank - 1; d >= 0; d--) {
        self->shape[d] = (Py_ssize_t)self->tensor.dims[d];
        self->strides[d] = stride;
        stride *= self->shape[d];
    }
    return (PyObject *)self;
}

PyObject *cw_py_array_new(struct cw_py_batch *batch, size_t index)
{
    struct cachew_tensor tensor;
    (void)cachew_batch_tensor(batch->batch, index, &tensor);
    return made_of(batch, index, &tensor);
}

static void array_dealloc(PyObject *object)
{
    Py_XDECREF((PyObject *)((struct cw_py_array *)object)->batch);
    cw_py_types_free(object);
}

/* Memory of the tensor for a buffer. Of what has no bytes, some address. */
static void *memory_of(struct cw_py_array *self, int *ret_readonly)
{
    static char nothing[64];
    void *writable =
        self->batch->link->writable ? cachew_batch_writable(self->batch->batch, self->index) : NULL;
    *ret_readonly = writable == NULL && self->tensor.bytes > 0;
    union {
        const void *from;
        void *to;
    } cast = {self->tensor.data}; /* a buffer that is read-only says so in another member */
    return writable ? writable : self->tensor.bytes > 0 ? cast.to : nothing;
}

static int array_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    int readonly;
    view->obj = NULL;
    if (!formats[self->tensor.dtype]) {
        PyErr_Format(PyExc_BufferError, "field %s holds strings: take tolist() or strings()",
                     self->tensor.name);
        return -1;
    }
    void *memory = memory_of(self, &readonly);
    if (readonly && (flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
        PyErr_Format(PyExc_BufferError,
                     "field %s is read-only: connect with writable=True, or copy it",
                     self->tensor.name);
        return -1;
    }
    *view = (Py_buffer){.buf = memory,
                        .obj = Py_NewRef(object),
                        .len = (Py_ssize_t)self->tensor.bytes,
                        .itemsize = (Py_ssize_t)cachew_dtype_bytes(self->tensor.dtype),
                        .readonly = readonly,
                        .ndim = self->tensor.rank};
    if ((flags & PyBUF_FORMAT) == PyBUF_FORMAT)
        view->format = formats[self->tensor.dtype];
    if ((flags & PyBUF_ND) == PyBUF_ND && view->ndim > 0)
        view->shape = self->shape;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES && view->ndim > 0)
        view->strides = self->strides;
    if (!view->shape && (flags & PyBUF_ND) != PyBUF_ND)
        view->ndim = 1; /* plain bytes */
    return 0;
}

static PyObject *call_numpy(PyObject *object, const char *function, const char *dtype)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *made = NULL;
    if (numpy)
        made = dtype ? PyObject_CallMethod(numpy, function, "Os", object, dtype)
                     : PyObject_CallMethod(numpy, function, "O", object);
    Py_XDECREF(numpy);
    return made;
}

/* Takes an array of bits, and returns it with the type of the package ml_dtypes, if that is there. */
static PyObject *bfloats(PyObject *bits)
{
    PyObject *module = bits ? PyImport_ImportModule("ml_dtypes") : NULL;
    PyObject *type = module ? PyObject_GetAttrString(module, "bfloat16") : NULL;
    PyObject *made = type ? PyObject_CallMethod(bits, "view", "O", type) : NULL;
    if (bits && !module) {
        PyErr_Clear();
        return bits;
    }
    Py_XDECREF(type);
    Py_XDECREF(module);
    Py_XDECREF(bits);
    return made;
}

/* Strings as objects bytes (O), or as NumPy's StringDType (T), which holds text. */
static PyObject *numpy_of_strings(const struct cw_py_array *self, const char *type)
{
    PyObject *list = cw_py_strings_list(&self->tensor, *type == 'T' ? "utf-8" : NULL);
    PyObject *made = list ? call_numpy(list, "array", type) : NULL;
    Py_XDECREF(list);
    return made;
}

static PyObject *numpy_of(PyObject *object, const char *strings)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    if (self->tensor.dtype == CACHEW_BF16)
        return bfloats(call_numpy(object, "asarray", NULL));
    return formats[self->tensor.dtype] ? call_numpy(object, "asarray", NULL)
                                       : numpy_of_strings(self, strings);
}

static PyObject *array_numpy(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"strings", NULL};
    const char *strings = "O";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$s:numpy", names, &strings))
        return NULL;
    if (strcmp(strings, "O") == 0 || strcmp(strings, "T") == 0)
        return numpy_of(object, strings);
    PyErr_Format(PyExc_ValueError, "strings is \"O\" or \"T\", not \"%s\"", strings);
    return NULL;
}

static PyObject *array_tolist(PyObject *object, PyObject *none)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    (void)none;
    if (!formats[self->tensor.dtype])
        return cw_py_strings_list(&self->tensor, NULL);
    PyObject *view = PyMemoryView_FromObject(object);
    PyObject *list = view ? PyObject_CallMethod(view, "tolist", NULL) : NULL;
    Py_XDECREF(view);
    return list;
}

static PyObject *array_strings(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    static char *names[] = {"encoding", NULL};
    const char *encoding = "utf-8";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|s:strings", names, &encoding))
        return NULL;
    if (!formats[self->tensor.dtype])
        return cw_py_strings_list(&self->tensor, encoding);
    PyErr_Format(PyExc_TypeError, "field %s holds no strings, but %s", self->tensor.name,
                 cachew_dtype_name(self->tensor.dtype));
    return NULL;
}

static Py_ssize_t array_length(PyObject *object)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    if (self->tensor.rank > 0)
        return self->shape[0];
    PyErr_SetString(PyExc_TypeError, "len() of an array without dimensions");
    return -1;
}

/* Indexing and iterating are NumPy's, or those of a list of strings. */
static PyObject *as_sequence(PyObject *object)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    return formats[self->tensor.dtype] ? numpy_of(object, "O") : array_tolist(object, NULL);
}

static PyObject *array_subscript(PyObject *object, PyObject *key)
{
    PyObject *of = as_sequence(object);
    PyObject *item = of ? PyObject_GetItem(of, key) : NULL;
    Py_XDECREF(of);
    return item;
}

static PyObject *array_iter(PyObject *object)
{
    PyObject *of = as_sequence(object);
    PyObject *iterator = of ? PyObject_GetIter(of) : NULL;
    Py_XDECREF(of);
    return iterator;
}

static PyObject *get_shape(PyObject *object, void *none)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    (void)none;
    return cw_py_types_dims(self->tensor.dims, self->tensor.rank);
}

static PyObject *get_text(PyObject *object, void *which)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    return PyUnicode_FromString(which ? self->tensor.name : cachew_dtype_name(self->tensor.dtype));
}

static PyObject *get_nbytes(PyObject *object, void *none)
{
    (void)none;
    return PyLong_FromSize_t(((struct cw_py_array *)object)->tensor.bytes);
}

/* What describes a ragged array: its offsets, or the shapes of its rows. */
static PyObject *get_beside(PyObject *object, void *shapes)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    struct cachew_tensor beside[2];
    if (!cw_py_ragged_describe(self, &beside[0], &beside[1]) || !beside[shapes != NULL].name)
        Py_RETURN_NONE;
    return made_of(self->batch, SIZE_MAX, &beside[shapes != NULL]);
}

static PyObject *array_repr(PyObject *object)
{
    struct cw_py_array *self = (struct cw_py_array *)object;
    PyObject *shape = get_shape(object, NULL);
    PyObject *text = shape ? PyUnicode_FromFormat("<Array %s: %s%R>", self->tensor.name,
                                                  cachew_dtype_name(self->tensor.dtype), shape)
                           : NULL;
    Py_XDECREF(shape);
    return text;
}

static PyMethodDef methods[] = {
    {"numpy", (PyCFunction)(void (*)(void))array_numpy, METH_VARARGS | METH_KEYWORDS,
     "numpy(*, strings='O')\n--\n\nA NumPy array over the same memory; of strings, a copy with "
     "objects, or with 'T' of NumPy's StringDType."},
    {"tolist", array_tolist, METH_NOARGS, "tolist()\n--\n\nThe values as lists; strings as bytes."},
    {"strings", (PyCFunction)(void (*)(void))array_strings, METH_VARARGS | METH_KEYWORDS,
     "strings(encoding='utf-8')\n--\n\nThe strings as str, in lists."},
    {"rows", cw_py_ragged_rows, METH_NOARGS,
     "rows()\n--\n\nThe rows, a list of NumPy arrays; of a ragged array they differ in shape."},
    {"__dlpack__", (PyCFunction)(void (*)(void))cw_py_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "For from_dlpack() of other libraries."},
    {"__dlpack_device__", cw_py_dlpack_device, METH_NOARGS, "__dlpack_device__()\n--\n\nThe CPU."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef getters[] = {
    {"shape", get_shape, NULL, "The dimensions, a tuple.", NULL},
    {"dtype", get_text, NULL, "The type of its values, as pipelines name it.", NULL},
    {"name", get_text, NULL, "The name of the field.", (void *)1},
    {"nbytes", get_nbytes, NULL, "The size of its memory.", NULL},
    {"offsets", get_beside, NULL,
     "Of a ragged array: where rows begin, and the last one ends, along the first dimension.",
     NULL},
    {"row_shapes", get_beside, NULL,
     "Of a ragged array whose rows differ in more than the first dimension: their shapes.",
     (void *)1},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "A tensor of a batch."},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getters},
    {Py_tp_iter, array_iter},
    {Py_tp_repr, array_repr},
    {Py_mp_length, array_length},
    {Py_mp_subscript, array_subscript},
    {Py_bf_getbuffer, array_getbuffer},
    {0, NULL},
};
static PyType_Spec spec = {"libcachew._cachew.Array", sizeof(struct cw_py_array), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int cw_py_array_init(PyObject *module)
{
    array_type = cw_py_types_add(module, &spec);
    return array_type ? 0 : -1;
}
