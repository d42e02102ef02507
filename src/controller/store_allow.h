/* SPDX-License-Identifier: Apache-2.0 */
/* Which stores a CacheBackend may name: those below a prefix of --allow-store. Pure functions. */
#ifndef CW_CONTROLLER_STORE_ALLOW_H
#define CW_CONTROLLER_STORE_ALLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Checks a prefix: SCHEME:/PATH, or gluster://HOST[:PORT][/VOLUME[/PATH]]. */
int cw_store_allow_check(const char *prefix, struct cw_err *err);
/* Whether a store's URL lies below one of n prefixes: the scheme, each of its hosts with its port, and
 * whole parts of its path have to be those of a prefix. Parameters ('?') are no part of a place. */
bool cw_store_is_allowed(const char *url, const char *const *prefixes, size_t n);

#endif
