/* SPDX-License-Identifier: Apache-2.0 */
/* What all decoders of sound files need: files in memory, and libraries that are loaded late. */
#include "ops/kernels/audio_decoder_int.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int64_t cw_audio_bytes_read(struct cw_audio_bytes *bytes, void *dst, int64_t n)
{
    const int64_t left = bytes->n - bytes->at, count = CW_MIN(CW_MAX(n, 0), left);
    if (count > 0)
        memcpy(dst, bytes->bytes + bytes->at, (size_t)count);
    bytes->at += count;
    return count;
}

int64_t cw_audio_bytes_seek(struct cw_audio_bytes *bytes, int64_t offset, int whence)
{
    const int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? bytes->at : bytes->n;
    if (offset < -base || offset > bytes->n - base)
        return -1;
    bytes->at = base + offset;
    return bytes->at;
}

int cw_audio_load(const char *name, void **library, struct cw_err *err)
{
    if (!*library)
        *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return *library ? 0
                    : cw_err_set(err, CW_E_UNSUPPORTED, "this file needs a library: %s", dlerror());
}

int cw_audio_symbol(void *library, const char *name, void *ret_function, struct cw_err *err)
{
    void *const symbol = dlsym(library, name);
    if (!symbol)
        return cw_err_set(err, CW_E_UNSUPPORTED, "the library lacks %s", name);
    memcpy(ret_function, &symbol, sizeof(symbol)); /* a pointer to a function is no object's */
    return 0;
}
