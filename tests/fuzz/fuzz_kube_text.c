/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities and times. What is a time is the same when it was printed and read again; thousandths
 * of a quantity are not below its units. */
#include <string.h>

#include "base/mem.h"
#include "kube/kube_time.h"
#include "kube/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    cw_autofree char *text = cw_mem_strndup((const char *)data, n);
    char printed[CW_KUBE_TIME_BYTES];
    int64_t us = 0, again = 0, units = 0, milli = 0;
    if (cw_kube_time_parse(text, &us, NULL) == CW_OK && us >= INT64_C(-62167219200000000) &&
        us < INT64_C(253402300800000000)) {
        cw_kube_time_print_us(us, printed);
        CW_ASSERT(cw_kube_time_parse(printed, &again, NULL) == CW_OK && again == us);
    }
    if (cw_kube_quantity(text, &units, NULL) == CW_OK) {
        CW_ASSERT(units >= 0);
        if (cw_kube_quantity_milli(text, &milli, NULL) == CW_OK)
            CW_ASSERT((milli + 999) / 1000 == units);
    }
    return 0;
}
