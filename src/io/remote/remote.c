/* SPDX-License-Identifier: Apache-2.0 */
/* The table of schemes, of the list. */
#include "io/remote/remote.h"

#include <stddef.h>

#include "io/io.h"
#include "io/remote/gs_token.h"
#include "io/remote/remote_loop.h"
#include "io/remote/s3.h"

#define CW_IO_SCHEME(name_, text_) extern const struct cw_io_scheme cw_io_scheme_##name_;
#include "io/scheme_list.h"
#undef CW_IO_SCHEME

void cw_io_remote_start(void)
{
#define CW_IO_SCHEME(name_, text_) &cw_io_scheme_##name_,
    static const struct cw_io_scheme *const schemes[] = {
#include "io/scheme_list.h"
        NULL};
#undef CW_IO_SCHEME
    cw_io_set_schemes(schemes);
}

void cw_io_remote_stop(void)
{
    cw_io_set_schemes(NULL);
    cw_remote_loop_stop();
    cw_s3_forget();
    (void)cw_gs_token_drop();
}
