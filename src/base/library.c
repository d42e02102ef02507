/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

int cw_library_load(const char *name, void **library, struct cw_err *err)
{
    if (!*library)
        *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return *library ? 0
                    : cw_err_set(err, CW_E_UNSUPPORTED, "this file needs a library: %s", dlerror());
}

int cw_library_symbol(void *library, const char *name, void *ret_function, struct cw_err *err)
{
    void *const symbol = dlsym(library, name);
    if (!symbol)
        return cw_err_set(err, CW_E_UNSUPPORTED, "the library lacks %s", name);
    memcpy(ret_function, &symbol, sizeof(symbol)); /* a pointer to a function is no object's */
    return 0;
}
