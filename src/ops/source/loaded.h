/* SPDX-License-Identifier: Apache-2.0 */
/* What sources have loaded of their files (an index, a head, inflated bytes), by file. What can be had
 * again cheaply is dropped when all sources of the process together have more than a limit: what was
 * not used for longest first, roughly, and never what is in use. Any thread. */
#ifndef CW_OPS_SOURCE_LOADED_H
#define CW_OPS_SOURCE_LOADED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cw_loaded;
/* free_it: frees what was loaded. bytes: how much memory it takes; 0: it is neither counted nor
 * dropped. NULL: that holds for all. */
struct cw_loaded *cw_loaded_new(size_t files, void (*free_it)(void *thing),
                                size_t (*bytes)(const void *thing));
/* Nothing may be in use. Accepts NULL. */
void cw_loaded_free(struct cw_loaded *loaded);
/* Gets what is loaded of file i, which stays until cw_loaded_put. If it is not there, one thread loads
 * it by `load`, while others wait; errors are not remembered. */
int cw_loaded_get(struct cw_loaded *loaded, size_t i,
                  int (*load)(void *arg, size_t i, void **ret_thing, struct cw_err *err), void *arg,
                  const void **ret_thing, struct cw_err *err);
void cw_loaded_put(struct cw_loaded *loaded, size_t i);

/* The limit of the process, in bytes; without one nothing is dropped. A lower one drops at once. */
void cw_loaded_set_max(size_t bytes);
/* Drops until at most so many bytes are left, or all is in use. */
void cw_loaded_trim(size_t bytes);
/* Counts bytes that a source holds besides: stretches of compressed files, decoded tables. Fewer than none: they
 * are given back. */
void cw_loaded_hold(int64_t bytes);
/* The most bytes of stretches that one source should hold, whatever its options allow; SIZE_MAX at the beginning.
 * It holds for sources that are made afterwards. */
void cw_loaded_set_part_max(size_t bytes);
size_t cw_loaded_part_max(void);
/* How many bytes all sources have loaded of what is counted, and hold besides. */
size_t cw_loaded_bytes(void);

#endif
