/* SPDX-License-Identifier: Apache-2.0 */
/* Values in files of profiles, as the tools of AWS write them. Pure. */
#ifndef CW_IO_REMOTE_INI_H
#define CW_IO_REMOTE_INI_H

#include "base/compiler.h"

/* Finds the value of a key in a section ("default", "profile x"). below: NULL, or the key with an empty
 * value under which the indented line stands. Returns a copy, or NULL: it is not there, or empty. */
char *cw_ini_get(const char *text, const char *section, const char *below,
                 const char *key) CW_MUST_CHECK;

#endif
