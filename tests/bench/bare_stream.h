/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a stream over gRPC core can be: static slices, one queue, the calling thread. */
#ifndef TESTS_BENCH_BARE_STREAM_H
#define TESTS_BENCH_BARE_STREAM_H

#include "base/buf.h"

#define BARE_METHOD "/bench.Stream/Get"

/* Prints its address, serves one stream of n messages, then waits to be killed. */
int bare_serve(size_t bytes, size_t n);
/* Every message is copied into the buffer, from its start; returns the bytes received. */
size_t bare_receive(const char *address, struct cw_buf *into);

#endif
