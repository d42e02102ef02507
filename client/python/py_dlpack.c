/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors for other libraries by DLPack. What they take holds the batch and the connection by
 * counts of its own, so they may give it back from any thread, without the GIL, and after Python's
 * end.
 *
 * A consumer that passes max_version (1, 0) or more is told whether the memory is read-only. Others
 * cannot be told; what they write is seen by this process alone, since memory is mapped privately,
 * but its other arrays over the same batch have it, too: the first such consumer is warned of it. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "client/model/dlpack_abi.h"
#include "client/python/py_api.h"

/* What stands behind a tensor that was given away. */
struct given {
    struct cw_py_link *link; /* one reference */
    void *ctx;               /* the library's own */
    void (*deleter)(struct DLManagedTensor *self);
    void (*deleter_versioned)(struct DLManagedTensorVersioned *self);
};
/* A copy of a tensor, in one piece of memory with its values. */
struct copy {
    struct DLManagedTensor managed;
    int64_t shape[CACHEW_RANK_MAX];
};

static _Atomic uint64_t unversioned;

uint64_t cw_py_dlpack_unversioned(void)
{
    return atomic_load(&unversioned);
}

static void on_delete(struct DLManagedTensor *self)
{
    struct given *given = self->manager_ctx;
    self->manager_ctx = given->ctx;
    given->deleter(self);
    cw_py_link_unref(given->link);
    free(given);
}

static void on_delete_versioned(struct DLManagedTensorVersioned *self)
{
    struct given *given = self->manager_ctx;
    self->manager_ctx = given->ctx;
    given->deleter_versioned(self);
    cw_py_link_unref(given->link);
    free(given);
}

static void on_delete_copy(struct DLManagedTensor *self)
{
    free(self->manager_ctx);
}

/* Capsules whose tensor nobody has taken free it. */
static void on_capsule_end(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return;
    struct DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

static void on_versioned_capsule_end(PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return;
    struct DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    managed->deleter(managed);
}

static struct given *given_new(struct cw_py_array *array)
{
    struct given *given = malloc(sizeof(*given));
    if (given)
        *given = (struct given){cw_py_link_ref(array->batch->link), NULL, NULL, NULL};
    else
        PyErr_NoMemory();
    return given;
}

/* Says with an exception that an array has no DLPack. */
static int is_refused(const struct cw_py_array *array)
{
    if (array->index != SIZE_MAX)
        return 0;
    PyErr_Format(PyExc_BufferError, "offsets and shapes of field %s have no DLPack: take numpy()",
                 array->tensor.name);
    return 1;
}

static PyObject *give_versioned(struct cw_py_array *array)
{
    struct DLManagedTensorVersioned *managed;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct given *given = given_new(array);
    if (!given)
        return NULL;
    if (cachew_batch_dlpack_versioned(array->batch->batch, array->index, &managed, &error) != 0) {
        cw_py_link_unref(given->link);
        free(given);
        return cw_py_errors_raise(&error);
    }
    given->ctx = managed->manager_ctx;
    given->deleter_versioned = managed->deleter;
    managed->manager_ctx = given;
    managed->deleter = on_delete_versioned;
    if (!array->batch->link->writable)
        managed->flags |= CW_DL_READ_ONLY;
    PyObject *capsule = PyCapsule_New(managed, "dltensor_versioned", on_versioned_capsule_end);
    if (!capsule)
        managed->deleter(managed);
    return capsule;
}

static struct DLManagedTensor *take(struct cw_py_array *array)
{
    struct DLManagedTensor *managed;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct given *given = given_new(array);
    if (!given)
        return NULL;
    if (cachew_batch_dlpack(array->batch->batch, array->index, &managed, &error) != 0) {
        cw_py_link_unref(given->link);
        free(given);
        cw_py_errors_raise(&error);
        return NULL;
    }
    given->ctx = managed->manager_ctx;
    given->deleter = managed->deleter;
    managed->manager_ctx = given;
    managed->deleter = on_delete;
    return managed;
}

/* A copy of the tensor, aligned to 64 bytes; it takes `managed`. */
static struct DLManagedTensor *copy_of(struct cw_py_array *array, struct DLManagedTensor *managed)
{
    struct copy *copy = malloc(sizeof(*copy) + array->tensor.bytes + 64);
    if (copy) {
        uintptr_t data = ((uintptr_t)(copy + 1) + 63) / 64 * 64;
        copy->managed = *managed;
        memcpy(copy->shape, managed->tensor.shape, (size_t)array->tensor.rank * sizeof(int64_t));
        copy->managed.tensor.shape = copy->shape;
        copy->managed.tensor.data = (void *)data;
        if (array->tensor.bytes > 0)
            memcpy((void *)data, array->tensor.data, array->tensor.bytes);
        copy->managed.manager_ctx = copy;
        copy->managed.deleter = on_delete_copy;
    } else {
        PyErr_NoMemory();
    }
    managed->deleter(managed);
    return copy ? &copy->managed : NULL;
}

/* Counts a consumer that cannot be told that the array is read-only, and warns of the first one. -1
 * with an exception, which may be the warning. */
static int note_unversioned(const struct cw_py_array *array)
{
    if (array->batch->link->writable || atomic_fetch_add(&unversioned, 1) > 0)
        return 0;
    PyObject *module = PyImport_ImportModule("libcachew._node");
    PyObject *none =
        module ? PyObject_CallMethod(module, "warn_unversioned", "s", array->tensor.name) : NULL;
    Py_XDECREF(none);
    Py_XDECREF(module);
    return none ? 0 : -1;
}

static PyObject *give(struct cw_py_array *array, int copied)
{
    if (!copied && note_unversioned(array) < 0)
        return NULL;
    struct DLManagedTensor *managed = take(array);
    if (managed && copied)
        managed = copy_of(array, managed);
    PyObject *capsule = managed ? PyCapsule_New(managed, "dltensor", on_capsule_end) : NULL;
    if (managed && !capsule)
        managed->deleter(managed);
    return capsule;
}

/* Whether the consumer knows DLPack 1.0; -1 with an exception. */
static int knows_flags(PyObject *max_version)
{
    if (max_version == Py_None)
        return 0;
    PyObject *major = PySequence_GetItem(max_version, 0);
    long number = major ? PyLong_AsLong(major) : -1;
    Py_XDECREF(major);
    return PyErr_Occurred() ? -1 : number >= 1;
}

static int is_cpu(PyObject *device)
{
    int type, id;
    if (device == Py_None)
        return 1;
    if (!PyArg_Parse(device, "(ii)", &type, &id))
        return -1;
    return type == CW_DL_CPU && id == 0;
}

PyObject *cw_py_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream,
                                     &max_version, &device, &copy))
        return NULL;
    int versioned = knows_flags(max_version), cpu = is_cpu(device);
    int copied = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (versioned < 0 || cpu < 0 || copied < 0)
        return NULL;
    if (!cpu || stream != Py_None) {
        PyErr_SetString(PyExc_BufferError, "batches are in the memory of the CPU: no stream, and "
                                           "no other device");
        return NULL;
    }
    if (is_refused((struct cw_py_array *)self))
        return NULL;
    /* A copy is the consumer's own, so there is nothing that a flag would have to say of it: but a
     * consumer that knows 1.0 may insist on the versioned form, and may copy for itself. */
    return versioned && !copied ? give_versioned((struct cw_py_array *)self)
                                : give((struct cw_py_array *)self, copied);
}

PyObject *cw_py_dlpack_device(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("(ii)", CW_DL_CPU, 0);
}
