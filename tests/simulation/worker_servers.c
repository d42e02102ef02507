/* SPDX-License-Identifier: Apache-2.0 */
/* No pipeline of the simulation reads from servers, so its workers know no schemes of servers, and have no
 * loop thread for their requests. */
#include "io/remote/remote.h"

void cw_io_remote_start(void)
{
}

void cw_io_remote_stop(void)
{
}
