/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_lookup.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(cw_op_lookup_fn *) lookup;

void cw_op_lookup_set(cw_op_lookup_fn *find)
{
    atomic_store_explicit(&lookup, find, memory_order_relaxed);
}

const struct cw_op *cw_op_lookup(const char *name)
{
    cw_op_lookup_fn *find = atomic_load_explicit(&lookup, memory_order_relaxed);
    return find ? find(name) : NULL;
}
