/* SPDX-License-Identifier: Apache-2.0 */
/* A profile that is read can be written, and what was written is read again. */
#include "base/mem.h"
#include "conf/value_yaml.h"
#include "rewrite/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int read_profile(const char *text, size_t n, struct cw_cost_profile *ret_profile)
{
    struct cw_value value = {0};
    struct cw_err err = {0};

    int rc = cw_value_parse_yaml(text, n, "fuzz", &value, &err);
    if (rc == 0)
        rc = cw_cost_profile_from(&value, "fuzz", ret_profile, &err);
    CW_ASSERT(rc <= 0 && (rc == 0 || err.msg[0]));
    cw_value_fini(&value);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_cost_profile profile = {0}, again = {0};
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};

    if (read_profile(n ? (const char *)data : "", n, &profile) < 0)
        return 0;
    cw_cost_profile_print(&profile, &value);
    cw_value_print_yaml(&value, &text);
    CW_ASSERT(read_profile(cw_str_text(&text), text.len, &again) == 0);
    CW_ASSERT(again.n == profile.n && again.has_store == profile.has_store);
    cw_cost_profile_fini(&profile);
    cw_cost_profile_fini(&again);
    cw_value_fini(&value);
    return 0;
}
