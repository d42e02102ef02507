/* SPDX-License-Identifier: Apache-2.0 */
/* A store for tests of what is above it: files in memory, shared by all stores of the process,
 * with switches for everything that can happen to one. It takes the place of the real ones in
 * the program that links it. "fake:map" maps, "fake:read" does not. */
#ifndef CW_TESTS_FAKE_STORE_H
#define CW_TESTS_FAKE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void fake_reset(void);
void fake_away(bool away); /* every operation is UNAVAILABLE */
/* reads that are begun wait for fake_release_reads, or are done at once */
void fake_hold_reads(bool hold);
size_t fake_release_reads(int rc); /* how many */
size_t fake_reads_held(void);
uint64_t fake_reads_begun(void); /* ever */
void fake_fail_reads(size_t n);  /* the next n reads that are waited for are IO */
void fake_hold_puts(bool hold);  /* puts wait until it is switched off */
size_t fake_puts_held(void);
void fake_capacity(uint64_t bytes); /* puts beyond it are LIMIT; 0 = none */
size_t fake_files(void);
const char *fake_name(size_t i); /* of the i-th file; valid until the next change */
/* flips a bit, in new bytes: who has it mapped keeps the old ones */
void fake_damage(size_t i, uint64_t offset);
void fake_damage_in_place(size_t i, uint64_t offset);
uint64_t fake_bytes(size_t i);
const void *fake_data(size_t i);

#endif
