/* SPDX-License-Identifier: Apache-2.0 */
/* Matches names of objects by patterns of files (io/glob.h). Pure. */
#ifndef CW_IO_MATCH_H
#define CW_IO_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a pattern has a wildcard; else it is a name, in which a backslash stands for what follows. */
bool cw_match_is_pattern(const char *pattern);
/* Returns how long the beginning is that all names that match have in common with the pattern. */
size_t cw_match_prefix(const char *pattern);
/* Whether a name matches. Both are taken apart at "/"; "**" as a whole component stands for any number
 * of components, and names of which one begins with a dot are matched by dots only. */
bool cw_match_name(const char *pattern, const char *name);

#endif
