/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all policies, by kind and name. CW_AUTOCACHE(NAME) stands for cw_policy_autocache_NAME in
 * autocache_NAME.c; EVICT, AUTOSCALE and AUTOPLACE likewise; CW_OPTIMIZER(NAME) for cw_optimizer_NAME in
 * optimize_NAME.c. It is included with some of these macros defined, and undefines them. */
#ifdef CW_AUTOCACHE
CW_AUTOCACHE(auto)
CW_AUTOCACHE(cachew)
CW_AUTOCACHE(force)
CW_AUTOCACHE(off)
#undef CW_AUTOCACHE
#endif
#ifdef CW_AUTOPLACE
CW_AUTOPLACE(auto)
CW_AUTOPLACE(fixed)
CW_AUTOPLACE(off)
CW_AUTOPLACE(pecan)
#undef CW_AUTOPLACE
#endif
#ifdef CW_AUTOSCALE
CW_AUTOSCALE(auto)
CW_AUTOSCALE(cachew)
CW_AUTOSCALE(fixed)
CW_AUTOSCALE(hpa)
#undef CW_AUTOSCALE
#endif
#ifdef CW_EVICT
CW_EVICT(benefit)
CW_EVICT(lru)
#undef CW_EVICT
#endif
#ifdef CW_OPTIMIZER
CW_OPTIMIZER(auto)
CW_OPTIMIZER(cedar)
CW_OPTIMIZER(off)
CW_OPTIMIZER(pecan)
#undef CW_OPTIMIZER
#endif
