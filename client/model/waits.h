/* SPDX-License-Identifier: Apache-2.0 */
/* What a job waits for (include/cachew/waiting.h), as the loop thread notes it for other threads. */
#ifndef CW_CLIENT_MODEL_WAITS_H
#define CW_CLIENT_MODEL_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/compiler.h"

#define CW_WAITS_TEXT_BYTES 512

struct cw_waits {
    int kind;           /* An enum cachew_wait_kind. */
    int64_t since_ns;   /* Since when, in the time of cw_clock_ns; 0 if nothing is waited for. */
    uint64_t worker_id; /* The worker that the text is about; 0 if it is about none. */
    char text[CW_WAITS_TEXT_BYTES];
};
struct cachew_waiting;

void cw_waits_set(struct cw_waits *waits, int kind, int64_t since_ns, const char *fmt, ...)
    CW_PRINTF(4, 5);
/* Nothing is waited for. */
void cw_waits_clear(struct cw_waits *waits);
bool cw_waits_eq(const struct cw_waits *a, const struct cw_waits *b);
/* Fills in a struct of the public interface, of which struct_size is set and valid. */
void cw_waits_tell(const struct cw_waits *waits, int64_t now_ns,
                   struct cachew_waiting *ret_waiting);
/* Prints ": TEXT (for 1.5 s)", or "" if nothing is waited for. `text` has room for
 * CW_WAITS_TEXT_BYTES + 40 bytes. */
void cw_waits_print(const struct cw_waits *waits, int64_t now_ns, char *text);

#endif
