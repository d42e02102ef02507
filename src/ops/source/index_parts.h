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

/* What parts are parts of: the files of a source, or the elements of a survey (plan/survey.c). */
struct cw_index_whole {
    const char *what; /* a word for several parts: "files" */
    size_t n;         /* how many there are */
    /* What those who get leases are told it is; NULL: none are leased. */
    const char *op;
    const struct cw_value *options;
    const struct cw_stop *stop;
    void *arg;
    /* Says where the work is, at part i, when so many are made. Any thread. */
    void (*at)(void *arg, size_t i, size_t made, char ret_at[CW_STOP_AT_BYTES]);
    /* Makes what a lease says of some parts, with the rows of all of them in the list "files". */
    void (*rows)(void *arg, size_t first, size_t n, struct cw_value *ret_rows);
    /* Takes the row of an answer. Returns false if it is not of part i. */
    bool (*take)(void *arg, size_t i, const struct cw_value *row, int64_t *ret_records);
    /* Notes the number of records of a part that is made. */
    void (*made)(void *arg, size_t i, int64_t records);
};

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

/* The same for the parts of anything. */
int cw_index_parts_make_all(struct cw_index_parts *parts, const struct cw_index_whole *whole,
                            cw_index_part_fn *fn, void *arg, struct cw_err *err);

/* How many parts are made, of how many, and what they are; 0 of 0: nothing is made now. Any thread. */
void cw_index_parts_progress(struct cw_index_parts *parts, size_t *ret_made, size_t *ret_n,
                             const char **ret_what);

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
