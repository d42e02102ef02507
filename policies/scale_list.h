/* SPDX-License-Identifier: Apache-2.0 */
/* Every policy about workers: CW_AUTOSCALE(name): cw_policy_autoscale_NAME of autoscale_NAME.c;
 * CW_AUTOPLACE(name): cw_policy_autoplace_NAME of autoplace_NAME.c. */
#ifdef CW_AUTOSCALE
CW_AUTOSCALE(auto)
CW_AUTOSCALE(cachew)
CW_AUTOSCALE(fixed)
CW_AUTOSCALE(hpa)
#endif
#ifdef CW_AUTOPLACE
CW_AUTOPLACE(auto)
CW_AUTOPLACE(fixed)
CW_AUTOPLACE(off)
CW_AUTOPLACE(pecan)
#endif
