/* SPDX-License-Identifier: Apache-2.0 */
#include "base/files_limit.h"

#include <sys/resource.h>

void cw_files_limit_raise(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}
