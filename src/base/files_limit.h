/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_BASE_FILES_LIMIT_H
#define CW_BASE_FILES_LIMIT_H

/* Raises the process's limit of open descriptors as far as it may: connections, files and shared
 * memory need them, and the usual soft limit of 1,024 is small. */
void cw_files_limit_raise(void);

#endif
