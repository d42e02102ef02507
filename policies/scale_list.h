/* SPDX-License-Identifier: Apache-2.0 */
/* The list of policies about workers. CW_AUTOSCALE(NAME) stands for cw_policy_autoscale_NAME in
 * autoscale_NAME.c, and CW_AUTOPLACE(NAME) for cw_policy_autoplace_NAME in autoplace_NAME.c. */
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
