/* SPDX-License-Identifier: Apache-2.0 */
/* A ping by bare gRPC core: one bidirectional stream over TCP on loopback, a small message there and
 * the same back, one thread on each side. */
#ifndef CW_TESTS_BENCH_BARE_PING_H
#define CW_TESTS_BENCH_BARE_PING_H

#include <stdint.h>

/* Serves one stream: prints its address, and returns when the stream ends. */
int bare_ping_serve(void);

struct bare_ping;
struct bare_ping *bare_ping_open(const char *address);
/* There and back, in ns; negative when the stream has ended. */
int64_t bare_ping_once(struct bare_ping *ping);
void bare_ping_close(struct bare_ping *ping);

#endif
