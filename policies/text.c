/* SPDX-License-Identifier: Apache-2.0 */
/* Prints times and sizes with units, for the sentences that give reasons. */
#include "policies/text.h"

struct unit {
    double size;
    const char *name;
};

static void add(struct cw_str *out, double v, const struct unit *units)
{
    while (units->size > 1 && v < units->size)
        units++;
    double n = v / units->size;
    cw_str_addf(out, "%.*f %s", n < 10 ? 2 : n < 100 ? 1 : 0, n, units->name);
}

void cw_policy_add_time(struct cw_str *out, double ns)
{
    static const struct unit units[] = {{3600e9, "h"}, {60e9, "min"}, {1e9, "s"},
                                        {1e6, "ms"},   {1e3, "us"},   {1, "ns"}};
    add(out, ns, units);
}

void cw_policy_add_bytes(struct cw_str *out, double bytes)
{
    static const struct unit units[] = {
        {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}};
    add(out, bytes, units);
}
