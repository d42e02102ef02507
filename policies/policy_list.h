/* SPDX-License-Identifier: Apache-2.0 */
/* The list of policies. CW_AUTOCACHE(NAME) stands for cw_policy_autocache_NAME in autocache_NAME.c,
 * and CW_EVICT(NAME) for cw_policy_evict_NAME in evict_NAME.c. It is included with one of these
 * macros defined. */
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
