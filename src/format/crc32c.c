/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C by table, or with the CPU's instruction. */
#include "format/crc32c.h"

#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/* Table of the reflected polynomial 0x82f63b78 for half bytes: it is small enough to be read. */
static const uint32_t nibbles[16] = {0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u,
                                     0x417b1dbcu, 0x5125dad3u, 0x61c69362u, 0x7198540du,
                                     0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u,
                                     0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au, 0xf36e6f75u};

uint32_t cw_crc32c_plain(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *bytes = p;
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ nibbles[crc & 15];
        crc = (crc >> 4) ^ nibbles[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
bool cw_crc32c_has_sse42(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) uint32_t cw_crc32c_sse42(uint32_t crc, const void *p, size_t n)
{
    const uint8_t *bytes = p;
    uint64_t wide = ~crc;
    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof(word));
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n > 0; n--, bytes++)
        crc = _mm_crc32_u8(crc, *bytes);
    return ~crc;
}
#else
bool cw_crc32c_has_sse42(void)
{
    return false;
}

uint32_t cw_crc32c_sse42(uint32_t crc, const void *p, size_t n)
{
    return cw_crc32c_plain(crc, p, n);
}
#endif

uint32_t cw_crc32c(uint32_t crc, const void *p, size_t n)
{
    return cw_crc32c_has_sse42() ? cw_crc32c_sse42(crc, p, n) : cw_crc32c_plain(crc, p, n);
}

uint32_t cw_crc32c_masked(const void *p, size_t n)
{
    uint32_t crc = cw_crc32c(0, p, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
