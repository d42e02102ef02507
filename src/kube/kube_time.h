/* SPDX-License-Identifier: Apache-2.0 */
/* Times as Kubernetes writes them (RFC 3339). Pure functions. They are for people and for other
 * programs: nothing here is decided by comparing them with an own clock. */
#ifndef CW_KUBE_KUBE_TIME_H
#define CW_KUBE_KUBE_TIME_H

#include "base/err.h"

#define CW_KUBE_TIME_BYTES 32

/* Parses "2026-01-31T23:59:59Z", with up to 9 digits of a fraction and any offset, to microseconds
 * since 1970; further digits are cut. */
int cw_kube_time_parse(const char *text, int64_t *ret_us, struct cw_err *err);
/* Print in UTC: with six digits of a fraction, as leases and events want, and in whole seconds. The
 * year is 0 to 9999; other times are printed as the nearest of these. */
void cw_kube_time_print_us(int64_t us, char ret_text[CW_KUBE_TIME_BYTES]);
void cw_kube_time_print_s(int64_t us, char ret_text[CW_KUBE_TIME_BYTES]);

#endif
