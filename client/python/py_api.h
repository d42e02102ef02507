/* SPDX-License-Identifier: Apache-2.0 */
/* Python's stable ABI, of 3.11 and later, and what the files of the extension module _cachew share.
 * Every call that may wait releases the GIL. Functions that return PyObject * return NULL, and those
 * that return int -1, with a Python exception set. */
#ifndef CW_CLIENT_PYTHON_PY_API_H
#define CW_CLIENT_PYTHON_PY_API_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include "cachew/cachew.h"

/* ---- py_link.c ---- */
/* A client that is connected, and how many hold it: the object Client, its jobs, its batches, and
 * tensors that were given away by DLPack. The last one disconnects it. No GIL is needed. */
struct cw_py_link {
    struct cachew_client *client;
    int writable; /* arrays say that they may be written; the client is connected with `writable`
                     in any case */
    _Atomic int refs;
};
/* Takes the client. NULL without memory; the client is disconnected then. */
struct cw_py_link *cw_py_link_new(struct cachew_client *client, int writable);
struct cw_py_link *cw_py_link_ref(struct cw_py_link *link);
void cw_py_link_unref(struct cw_py_link *link);

/* ---- py_errors.c ---- */
/* Adds Error and its subclasses, one for each code, to the module. */
int cw_py_errors_init(PyObject *module);
/* Raises the exception of the error's code; always NULL. */
PyObject *cw_py_errors_raise(const struct cachew_error *error);

/* ---- py_options.c ---- */
enum cw_py_option_type {
    CW_PY_FLAG, /* an int, 0 or 1 */
    CW_PY_INT,
    CW_PY_I64,
    CW_PY_U32,
    CW_PY_U64,
    CW_PY_F64,
    CW_PY_STR,
    CW_PY_WORD /* an enum: the place of the word in `words` */
};
/* A member of a struct of options, by its name. */
struct cw_py_option {
    const char *name;
    enum cw_py_option_type type;
    size_t offset;
    const char *const *words; /* of CW_PY_WORD, ended by NULL */
};
/* Sets members of `target` from a dict. None leaves a member as it is. Texts belong to the dict.
 * TypeError: there is no such option, or a value of another type. */
int cw_py_options_set(const struct cw_py_option *rows, void *target, PyObject *dict);

/* ---- py_types.c ---- */
/* Makes a type of the spec and adds it to the module; NULL on failure. The result is borrowed. */
PyTypeObject *cw_py_types_add(PyObject *module, PyType_Spec *spec);
/* A new object of the type, zeroed. */
void *cw_py_types_alloc(PyTypeObject *type);
/* Frees an object at the end of its tp_dealloc. */
void cw_py_types_free(PyObject *self);
/* A new dict {names[i]: values[i]}, or NULL; it takes all values, also NULL ones, which are a
 * failure. */
PyObject *cw_py_types_dict(const char *const *names, PyObject *const *values, size_t n);
/* A tuple of n numbers. */
PyObject *cw_py_types_dims(const int64_t *dims, int n);

/* ---- py_pipeline.c ---- */
int cw_py_pipeline_init(PyObject *module);
/* The pipeline that an object Pipeline holds; NULL with TypeError if it is none. */
struct cachew_pipeline *cw_py_pipeline_of(PyObject *object);
/* What a spec says: a list of (name, dtype, dims). */
PyObject *cw_py_pipeline_spec(const struct cachew_spec *spec);

/* ---- py_write_array.c ---- */
/* write_array(name, dtype, dims, data, offsets, directory) -> (op, pattern) */
PyObject *cw_py_write_array(PyObject *module, PyObject *args);

/* ---- py_client.c ---- */
int cw_py_client_init(PyObject *module);
/* The link of an open object Client; NULL with an exception otherwise. */
struct cw_py_link *cw_py_client_link(PyObject *object);

/* ---- py_cancel.c ---- */
int cw_py_cancel_init(PyObject *module);
/* The switch of an object Cancel; NULL for None, and with TypeError (and -1 returned) for others. */
int cw_py_cancel_of(PyObject *object, struct cachew_cancel **ret_cancel);

/* ---- py_job.c ---- */
int cw_py_job_init(PyObject *module);
/* The new object of a job that was started; it takes the job, also on failure. */
PyObject *cw_py_job_new(struct cw_py_link *link, struct cachew_job *job);

/* ---- py_job_start.c ---- */
/* start(client, pipeline, options, token, on_waiting, cancel) -> Job */
PyObject *cw_py_job_start(PyObject *module, PyObject *args);

/* ---- py_job_views.c ---- */
/* What a job tells about itself. */
PyObject *cw_py_job_views_stats(const struct cachew_job *job);
PyObject *cw_py_job_views_waiting(const struct cachew_job *job);
PyObject *cw_py_job_views_bad(const struct cachew_job *job);
/* Its token; None where it has none. */
PyObject *cw_py_job_views_token(struct cachew_job *job, int with_last);

/* ---- py_batch.c ---- */
/* A batch: a mapping of names to arrays. */
struct cw_py_batch {
    PyObject_HEAD struct cachew_batch *batch; /* one reference */
    struct cw_py_link *link;                  /* one reference */
    PyObject *token;                          /* bytes, or None */
};
int cw_py_batch_init(PyObject *module);
/* The new object of a batch, which it takes, also on failure; token is taken, too. */
PyObject *cw_py_batch_new(struct cw_py_link *link, struct cachew_batch *batch, PyObject *token);

/* ---- py_array.c ---- */
/* A tensor of a batch. */
struct cw_py_array {
    PyObject_HEAD struct cw_py_batch *batch; /* one reference: it keeps the memory */
    size_t index; /* the tensor's number in the batch; SIZE_MAX: beside one of them */
    struct cachew_tensor tensor;
    Py_ssize_t shape[CACHEW_RANK_MAX], strides[CACHEW_RANK_MAX];
};
int cw_py_array_init(PyObject *module);
PyObject *cw_py_array_new(struct cw_py_batch *batch, size_t index);

/* ---- py_ragged.c ---- */
/* Where the rows of a ragged array begin, and their shapes, as cachew_batch_ragged tells; 0 if it is not
 * ragged. */
int cw_py_ragged_describe(const struct cw_py_array *array, struct cachew_tensor *ret_begins,
                          struct cachew_tensor *ret_shapes);
/* Array.rows(). */
PyObject *cw_py_ragged_rows(PyObject *object, PyObject *none);

/* ---- py_strings.c ---- */
/* The strings of a tensor, as lists in lists by its dimensions, or one object if it has none: bytes,
 * or with an encoding str. */
PyObject *cw_py_strings_list(const struct cachew_tensor *tensor, const char *encoding);

/* ---- py_dlpack.c ---- */
/* Array.__dlpack__ and Array.__dlpack_device__. */
PyObject *cw_py_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *cw_py_dlpack_device(PyObject *self, PyObject *none);
/* How many read-only tensors were given to consumers that cannot be told that they are. */
uint64_t cw_py_dlpack_unversioned(void);

/* ---- py_log.c ---- */
/* set_log(fd, level): messages of the library go to a socket of datagrams, or to stderr with -1. */
PyObject *cw_py_log_set(PyObject *module, PyObject *args);

#endif
