/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's words for why an address cannot be reached, made short. */
#ifndef CW_BASE_SHORT_REASON_H
#define CW_BASE_SHORT_REASON_H

#include <stddef.h>

/* Writes the system's own reason to `text`, without the words that gRPC puts around it: "ADDRESS:
 * failed to connect to all addresses; last error: ... : Connection refused". Of a name that cannot
 * be resolved it says that. msg may be NULL. */
void cw_short_reason(const char *address, const char *msg, char *text, size_t cap);

#endif
