/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities of Kubernetes: "100Gi", "1.5Ti", "1e3", "250m". Pure functions. */
#ifndef CW_KUBE_QUANTITY_H
#define CW_KUBE_QUANTITY_H

#include "base/err.h"

/* Parses a quantity that is not negative to whole units (bytes), rounded up as the API server does.
 * INVALID: it is no quantity; LIMIT: it is negative or above 2^63 - 1. The message quotes it. */
int cw_kube_quantity(const char *text, int64_t *ret_units, struct cw_err *err);
/* Parses a quantity to thousandths (of a CPU), rounded away from zero; it may be negative. */
int cw_kube_quantity_milli(const char *text, int64_t *ret_milli, struct cw_err *err);

#endif
