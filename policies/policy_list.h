/* SPDX-License-Identifier: Apache-2.0 */
/* Every policy: CW_AUTOCACHE(name): cw_policy_autocache_NAME of autocache_NAME.c;
 * CW_EVICT(name): cw_policy_evict_NAME of evict_NAME.c. */
#ifdef CW_AUTOCACHE
CW_AUTOCACHE(auto)
CW_AUTOCACHE(cachew)
CW_AUTOCACHE(force)
CW_AUTOCACHE(off)
#endif
#ifdef CW_EVICT
CW_EVICT(benefit)
CW_EVICT(lru)
#endif
