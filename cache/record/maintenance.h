/* SPDX-License-Identifier: Apache-2.0 */
/* The maintenance thread (what it does: maintenance.c). */
#ifndef CW_CACHE_RECORD_MAINTENANCE_H
#define CW_CACHE_RECORD_MAINTENANCE_H

void cw_maintenance_thread(void *arg); /* arg: the cache */

#endif
