/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of problems. */
#ifndef CW_POLICIES_PROBLEM_NUMBERS_H
#define CW_POLICIES_PROBLEM_NUMBERS_H

#include "policies/numbers.h"
#include "policies/optimize.h"

#define OF_PROBLEM(key) CW_NUMBER_FROM_0(cw_optimize_problem, key)
#define OF_PROBLEM_FROM_1(key) CW_NUMBER(cw_optimize_problem, key, 1, CW_NUMBER_LARGEST, 0)
#define OF_STORE(key) CW_NUMBER_FROM_0(cw_optimize_store, key)
#define OF_NODE(key) CW_NUMBER_FROM_0(cw_optimize_node, key)
#define OF_BATCH(key) CW_NUMBER_FROM_0(cw_optimize_batch, key)
#define OF_BRANCH(key) CW_NUMBER_FROM_0(cw_optimize_branch, key)
#define OF_WHOLE(key) CW_NUMBER_FROM_0(cw_optimize_whole, key)
static const struct cw_number problem_numbers[] = {
    OF_PROBLEM_FROM_1(elements),
    OF_PROBLEM_FROM_1(epochs),
    OF_PROBLEM_FROM_1(threads),
    OF_PROBLEM(cores),
    OF_PROBLEM(source_bytes),
    OF_PROBLEM(source_bytes_s),
    OF_PROBLEM(network_bytes_s),
    OF_PROBLEM(trainer_ns),
    OF_PROBLEM(other_ns),
    OF_PROBLEM(worker_price),
    OF_PROBLEM(trainer_price),
    OF_PROBLEM(element_ns),
    OF_PROBLEM(store_price),
    CW_NUMBER_WHOLE_OF(cw_optimize_problem, remote_max, 1000),
    CW_NUMBER_WHOLE_OF(cw_optimize_problem, local_max, 1000),
    CW_NUMBER_FLAG_OF(cw_optimize_problem, least_money, false),
    CW_NUMBER_FLAG_OF(cw_optimize_problem, least_work, false),
    CW_NUMBER_FLAG_OF(cw_optimize_problem, apart, false),
};
static const struct cw_number store_numbers[] = {
    OF_STORE(read_ns),
    OF_STORE(read_byte_ns),
    OF_STORE(write_ns),
    OF_STORE(write_byte_ns),
    OF_STORE(read_bytes_s),
    OF_STORE(write_bytes_s),
    CW_NUMBER(cw_optimize_store, free_bytes, -1, CW_NUMBER_LARGEST, -1),
};
static const struct cw_number node_numbers[] = {
    OF_NODE(ns),
    OF_NODE(ns_byte),
    OF_NODE(cpu_ns),
    OF_NODE(cpu_ns_byte),
    CW_NUMBER(cw_optimize_node, keep, 0, 1, 1),
    CW_NUMBER_FLAG_OF(cw_optimize_node, uncacheable, false),
    CW_NUMBER_FLAG_OF(cw_optimize_node, by_batch, false),
    CW_NUMBER_FLAG_OF(cw_optimize_node, is_batch, false),
};
static const struct cw_number whole_numbers[] = {
    OF_WHOLE(ns),
    OF_WHOLE(ns_byte),
    OF_WHOLE(cpu_ns),
    OF_WHOLE(cpu_ns_byte),
    CW_NUMBER(cw_optimize_whole, grows, 1e-9, CW_NUMBER_LARGEST, 1),
};
static const struct cw_number branch_numbers[] = {
    OF_BRANCH(ns),           OF_BRANCH(cpu_ns), OF_BRANCH(whole_ns),
    OF_BRANCH(whole_cpu_ns), OF_BRANCH(bytes),  CW_NUMBER(cw_optimize_branch, share, 0, 1, 0),
};
static const struct cw_number batch_numbers[] = {
    OF_BATCH(ns),
    OF_BATCH(ns_byte),
    OF_BATCH(cpu_ns),
    OF_BATCH(cpu_ns_byte),
};

/* What is cached already. */
static const struct cw_number cached_numbers[] = {
    {"share", offsetof(struct cw_optimize_cached, share), CW_NUMBER_F64, true, 0, 1, 0},
};

#endif
