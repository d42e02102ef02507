/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an index that are to be made while a job is prepared: one for each file of a source.
 * Threads of this process take them from the first on. Others may be given some from the last on, as
 * leases (docs/protocol.md, "Indices"): what they find out is the number of records, and they keep
 * the part where all find it (format/kept_index.h). Nothing ever waits for them: parts that are leased
 * are made here too once there is nothing else to do. */
#ifndef CW_OPS_SOURCE_INDEX_PARTS_H
#define CW_OPS_SOURCE_INDEX_PARTS_H

#include "ops/source/file_set.h"

/* How many parts a process makes at a time; 16 at the beginning. Making one is mostly waiting. */
#define CW_INDEX_AT_ONCE_MAX 256
void cw_index_parts_set_at_once(unsigned n);
unsigned cw_index_parts_at_once(void);

struct cw_index_parts;
/* ready: is called by any thread when there are parts that may be leased; NULL: none are. */
struct cw_index_parts *cw_index_parts_new(void (*ready)(void *arg), void *arg);
void cw_index_parts_free(struct cw_index_parts *parts);
/* ---- who prepares ---- */

/* Finds out the number of records of file i, on one of several threads. */
typedef int cw_index_part_fn(void *arg, size_t i, int64_t *ret_records, struct cw_err *err);
/* Finds it out for all files of the set, with so many threads, and with those who have leases. The error
 * is that of the first file that has one. parts: NULL if there are no others. */
int cw_index_parts_make(struct cw_index_parts *parts, struct cw_file_set *files,
                        const struct cw_op_open *how, cw_index_part_fn *fn, void *arg,
                        struct cw_err *err);

/* How many parts are made, of how many; 0 of 0: nothing is made now. Any thread. */
void cw_index_parts_progress(struct cw_index_parts *parts, size_t *ret_made, size_t *ret_n);

/* ---- leases ---- */

struct cw_index_lease {
    const char *op;          /* lent until the lease has ended */
    struct cw_value options; /* of the node; cw_value_fini */
    struct cw_value files;   /* as a manifest (file_set.h), the numbers of records being 0 */
};
void cw_index_lease_fini(struct cw_index_lease *lease);
/* Leases some parts under this number, for somebody who makes them at once. others: how many have
 * leases, or are about to. Returns false if there are none to lease now. */
bool cw_index_parts_lease(struct cw_index_parts *parts, uint64_t number, size_t others,
                          struct cw_index_lease *ret_lease);
/* Ends a lease. files: the manifest with numbers of records; NULL, or one that does not fit: the parts
 * were not made. */
void cw_index_parts_leased(struct cw_index_parts *parts, uint64_t number,
                           const struct cw_value *files);
/* Ends all leases so: who gave out their numbers is gone. */
void cw_index_parts_lost(struct cw_index_parts *parts);
/* op: the source, NULL is refused. Makes the parts of a lease here: the files' numbers of records become right. */
int cw_index_parts_help(const struct cw_op *op, const struct cw_value *options,
                        struct cw_value *files, const struct cw_stop *stop, struct cw_err *err);

#endif
