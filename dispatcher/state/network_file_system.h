/* SPDX-License-Identifier: Apache-2.0 */
/* Which file systems have locks that cannot be believed. */
#ifndef CW_DISPATCHER_STATE_NETWORK_FILE_SYSTEM_H
#define CW_DISPATCHER_STATE_NETWORK_FILE_SYSTEM_H

#include "base/err.h"

/* Refuses (UNSUPPORTED) a directory on a file system of the network, with what to do. */
int cw_state_check_file_system(const char *dir, struct cw_err *err);
/* Returns the name of a file system of the network by the number of statfs(2); NULL: it is none. */
const char *cw_state_network_file_system(unsigned long type);

#endif
