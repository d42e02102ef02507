/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of small text files. */
#ifndef CW_BASE_TEXT_FILE_H
#define CW_BASE_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a small file, like those of /proc and /sys, and ends its text with a NUL. A file of cap
 * bytes or more is cut. Returns false if it cannot be read or is empty. */
bool cw_text_file_read(const char *path, char *text, size_t cap);

#endif
