/* SPDX-License-Identifier: Apache-2.0 */
/* The maintenance thread of a cache (maintenance.c says what it does). */
#ifndef CW_CACHE_RECORD_MAINTENANCE_H
#define CW_CACHE_RECORD_MAINTENANCE_H

void cw_maintenance_thread(void *arg); /* Main function of the thread; arg is the cache. */

#endif
