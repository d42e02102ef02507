/* SPDX-License-Identifier: Apache-2.0 */
/* A cache for tests of src/exec. It takes the place of the functions of
 * cache/record/record_cache.h that exec and plan call: it keeps each record in pages of its own
 * that cannot be written to, loses none, and tells what happened. Several threads may use it. */
#ifndef CW_TESTS_FAKE_CACHE_H
#define CW_TESTS_FAKE_CACHE_H

#include "cache/record/record_cache.h"

struct fake_counts {
    size_t gets, hits, left_out;          /* left_out: gets that found that there is nothing */
    size_t puts, puts_left_out, puts_bad; /* bad: an element that must not be kept */
    size_t puts_again;                    /* of a record that is there; its bytes were the same */
    size_t held;                          /* records that are held now */
    size_t held_most;
    size_t prefetched;
    size_t touched; /* hits that had been touched since the one before */
    size_t records;
};
struct cw_cache_dataset *fake_cache_new(const struct cw_spec *spec);
void fake_cache_free(struct cw_cache_dataset *node);
struct fake_counts fake_cache_counts(struct cw_cache_dataset *node);
/* Forgets all records whose id is in [lo, hi). */
void fake_cache_forget(struct cw_cache_dataset *node, uint64_t lo, uint64_t hi);
/* The next get of each of these finds it, but it breaks while it is used: it is zeros then, what
 * was held is not intact, and it is found no more. */
void fake_cache_break(struct cw_cache_dataset *node, uint64_t lo, uint64_t hi);

#endif
