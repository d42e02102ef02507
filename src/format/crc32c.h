/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as TFRecord files use it. Any thread. */
#ifndef CW_FORMAT_CRC32C_H
#define CW_FORMAT_CRC32C_H

#include <stdbool.h>
#include "base/compiler.h"

/* Checksum of n bytes, continued from crc (0 at the start). Uses the CPU's instruction if it has
 * one. */
uint32_t cw_crc32c(uint32_t crc, const void *p, size_t n);
/* TFRecord's masked checksum of n bytes. */
uint32_t cw_crc32c_masked(const void *p, size_t n);

/* The two implementations, for tests: by table, and with SSE4.2 (only if cw_crc32c_has_sse42). */
uint32_t cw_crc32c_plain(uint32_t crc, const void *p, size_t n);
uint32_t cw_crc32c_sse42(uint32_t crc, const void *p, size_t n);
bool cw_crc32c_has_sse42(void);

#endif
