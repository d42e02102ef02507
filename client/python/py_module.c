/* SPDX-License-Identifier: Apache-2.0 */
/* The extension module libcachew._cachew: libcachew for Python, on the stable ABI. It adds nothing
 * of its own; what users call is Python around it. */
#include "client/python/py_api.h"

PyMODINIT_FUNC PyInit__cachew(void);

static PyObject *dlpack_unversioned(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyLong_FromUnsignedLongLong(cw_py_dlpack_unversioned());
}

static PyMethodDef methods[] = {
    {"start", cw_py_job_start, METH_VARARGS,
     "start(client, pipeline, options, token, on_waiting, cancel)\n--\n\nStarts a job."},
    {"write_array", cw_py_write_array, METH_VARARGS,
     "write_array(name, dtype, dims, data, offsets, directory)\n--\n\nWrites an array; returns the "
     "operator that reads it, and its pattern."},
    {"set_log", cw_py_log_set, METH_VARARGS,
     "set_log(fd, level)\n--\n\nHas messages sent to a socket; -1: to stderr."},
    {"dlpack_unversioned", dlpack_unversioned, METH_NOARGS,
     "dlpack_unversioned()\n--\n\nHow many read-only tensors were given to consumers of DLPack "
     "that "
     "cannot be told that they are."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "libcachew._cachew",
                                        "libcachew, as its C functions are.",
                                        -1,
                                        methods,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__cachew(void)
{
    static int (*const parts[])(PyObject *) = {
        cw_py_errors_init, cw_py_pipeline_init, cw_py_cancel_init, cw_py_client_init,
        cw_py_job_init,    cw_py_batch_init,    cw_py_array_init};
    PyObject *module = PyModule_Create(&definition);
    for (size_t i = 0; module && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i](module) < 0)
            Py_CLEAR(module);
    return module;
}
