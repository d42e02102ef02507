/* SPDX-License-Identifier: Apache-2.0 */
/* What parses as YAML prints as JSON, which is YAML too, and both are read as the same value. */
#include <math.h>

#include "base/mem.h"
#include "conf/value_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_value value = {0}, json = {0};
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};

    int rc = cw_value_parse_yaml(n ? (const char *)data : "", n, "fuzz", &value, &err);
    CW_ASSERT(rc <= 0 && (rc == 0 || err.msg[0]));
    if (rc == 0) {
        cw_value_print(&value, &text);
        CW_ASSERT(cw_value_parse(cw_str_text(&text), text.len, "printed", &json, &err) == 0);
        CW_ASSERT(cw_value_eq(&value, &json));
    }
    cw_value_fini(&value);
    cw_value_fini(&json);
    return 0;
}
