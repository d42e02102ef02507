/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of problems: one table for each struct, so that printing and reading cannot differ. */
#ifndef CW_POLICIES_PROBLEM_NUMBERS_H
#define CW_POLICIES_PROBLEM_NUMBERS_H

#include <stddef.h>
#include "policies/optimize.h"

#define LARGEST 1e18

struct number {
    const char *key;
    size_t offset;
    double least, most, usual;
};
#define NUMBER(type, key, field, least, most, usual)                                               \
    {                                                                                              \
        key, offsetof(struct type, field), least, most, usual                                      \
    }
#define OF_PROBLEM(key, least) NUMBER(cw_optimize_problem, #key, key, least, LARGEST, 0)
#define OF_STORE(key) NUMBER(cw_optimize_store, #key, key, 0, LARGEST, 0)
#define OF_NODE(key) NUMBER(cw_optimize_node, #key, key, 0, LARGEST, 0)
#define OF_BATCH(key) NUMBER(cw_optimize_batch, #key, key, 0, LARGEST, 0)
#define OF_BRANCH(key) NUMBER(cw_optimize_branch, #key, key, 0, LARGEST, 0)
#define OF_WHOLE(key) NUMBER(cw_optimize_whole, #key, key, 0, LARGEST, 0)
static const struct number problem_numbers[] = {
    OF_PROBLEM(elements, 1),        OF_PROBLEM(epochs, 1),        OF_PROBLEM(threads, 1),
    OF_PROBLEM(cores, 0),           OF_PROBLEM(source_bytes, 0),  OF_PROBLEM(source_bytes_s, 0),
    OF_PROBLEM(network_bytes_s, 0), OF_PROBLEM(trainer_ns, 0),    OF_PROBLEM(other_ns, 0),
    OF_PROBLEM(worker_price, 0),    OF_PROBLEM(trainer_price, 0), OF_PROBLEM(element_ns, 0),
    OF_PROBLEM(store_price, 0),
};
static const struct number store_numbers[] = {
    OF_STORE(read_ns),
    OF_STORE(read_byte_ns),
    OF_STORE(write_ns),
    OF_STORE(write_byte_ns),
    OF_STORE(read_bytes_s),
    OF_STORE(write_bytes_s),
    NUMBER(cw_optimize_store, "free_bytes", free_bytes, -1, LARGEST, -1),
};
static const struct number node_numbers[] = {
    OF_NODE(ns),
    OF_NODE(ns_byte),
    OF_NODE(cpu_ns),
    OF_NODE(cpu_ns_byte),
    NUMBER(cw_optimize_node, "keep", keep, 0, 1, 1),
};

static const struct number whole_numbers[] = {
    OF_WHOLE(ns),
    OF_WHOLE(ns_byte),
    OF_WHOLE(cpu_ns),
    OF_WHOLE(cpu_ns_byte),
    NUMBER(cw_optimize_whole, "grows", grows, 1e-9, LARGEST, 1),
};
static const struct number branch_numbers[] = {
    OF_BRANCH(ns),           OF_BRANCH(cpu_ns), OF_BRANCH(whole_ns),
    OF_BRANCH(whole_cpu_ns), OF_BRANCH(bytes),  NUMBER(cw_optimize_branch, "share", share, 0, 1, 0),
};
static const struct number batch_numbers[] = {
    OF_BATCH(ns),
    OF_BATCH(ns_byte),
    OF_BATCH(cpu_ns),
    OF_BATCH(cpu_ns_byte),
};

static inline double *number_at(const void *object, const struct number *number)
{
    return (double *)(void *)((char *)(uintptr_t)object + number->offset);
}

#endif
