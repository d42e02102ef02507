/* SPDX-License-Identifier: Apache-2.0 */
/* The thread sanitizer cannot see that libgrpc, which is not instrumented, orders
 * grpc_call_start_batch before the completion of its tag. These two macros state it; in other
 * builds they do nothing. */
#ifndef CW_RPC_TSAN_H
#define CW_RPC_TSAN_H

#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define CW_TSAN_ACQUIRE(p) __tsan_acquire(p)
#define CW_TSAN_RELEASE(p) __tsan_release(p)
#else
#define CW_TSAN_ACQUIRE(p) ((void)(p))
#define CW_TSAN_RELEASE(p) ((void)(p))
#endif

#endif
