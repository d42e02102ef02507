/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libhdf5, and says what it says of errors. */
#include "base/library.h"
#include "base/thread.h"
#include "format/hdf5_int.h"

#include <string.h>

#define LIBRARY "libhdf5_serial.so.103"

static struct cw_mutex mutex = CW_MUTEX_INIT; /* held during each call of the library */
/* guarded by mutex: */
static struct cw_hdf5_library functions;
static void *library;
static bool is_ready;

/* Links to other files are not followed, and no code is loaded for filters. */
static void tame(void)
{
    functions.H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* it does not print */
    functions.H5Lunregister(H5L_TYPE_EXTERNAL);
    functions.H5PLset_loading_state(0);
}

static int load(struct cw_err *err)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct cw_hdf5_library, name)},
        CW_HDF5_FUNCTIONS(SYMBOL)
#undef SYMBOL
    };
    void *dataset_access = NULL;
    int rc = cw_library_load(LIBRARY, &library, err);
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(symbols); i++)
        rc = cw_library_symbol(library, symbols[i].name, (char *)&functions + symbols[i].offset,
                               err);
    if (rc == 0)
        rc = cw_library_symbol(library, "H5P_CLS_DATASET_ACCESS_ID_g", &dataset_access, err);
    if (rc < 0)
        return rc;
    functions.H5dont_atexit();
    if (functions.H5open() < 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, LIBRARY " cannot be set up");
    functions.dataset_access = *(const hid_t *)dataset_access;
    tame();
    is_ready = true;
    return 0;
}

const struct cw_hdf5_library *cw_hdf5_lock(struct cw_err *err)
{
    cw_mutex_lock(&mutex);
    if (is_ready || load(err) == 0)
        return &functions;
    cw_mutex_unlock(&mutex);
    return NULL;
}

void cw_hdf5_unlock(void)
{
    cw_mutex_unlock(&mutex);
}

bool cw_hdf5_is_free(void)
{
    if (!cw_mutex_try_lock(&mutex))
        return false;
    cw_mutex_unlock(&mutex);
    return true;
}

/* Keeps the text of the innermost error, which says what was wrong. */
static herr_t on_error(unsigned n, const H5E_error2_t *error, void *arg)
{
    (void)n;
    *(const char **)arg = error->desc;
    return 0;
}

int cw_hdf5_fail(const struct cw_hdf5_library *h5, const char *file, const char *set,
                 const char *what, struct cw_err *err)
{
    const char *why = NULL;
    h5->H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, on_error, (void *)&why);
    return cw_err_set(err, CW_E_CORRUPT, "%s%s%s: %s%s%s", file, set ? ": dataset " : "",
                      set ? set : "", what, why ? ": " : "", why ? why : "");
}
