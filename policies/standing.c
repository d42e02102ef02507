/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/standing.h"

const struct cw_standing_rule cw_standing_epoch = {.more = 1.5,
                                                   .less = 1 / 1.5,
                                                   .least = 0.1e9,
                                                   .in_a_row = 1,
                                                   .gain = 0.1,
                                                   .gain_refuted = CW_STANDING_EPOCH_NOISE};
const struct cw_standing_rule cw_standing_cost = {
    .more = 1.2, .less = 0.8, .in_a_row = 3, .gain = 0.1, .gain_refuted = 0.02};
/* Nothing is saved by it: the policy looks for the number of workers anew. */
const struct cw_standing_rule cw_standing_demand = {.more = 1.1, .less = 0.9, .in_a_row = 2};

int cw_standing_side(const struct cw_standing_rule *rule, double now, double basis)
{
    return now > rule->more * basis + rule->least   ? 1
           : now < rule->less * basis - rule->least ? -1
                                                    : 0;
}

bool cw_standing_is_off(const struct cw_standing_rule *rule, double now, double basis)
{
    return now > 0 && basis > 0 && cw_standing_side(rule, now, basis) != 0;
}

bool cw_standing_differs(double now, double basis, double part)
{
    const struct cw_standing_rule rule = {.more = 1 + part, .less = 1 - part};
    return cw_standing_is_off(&rule, now, basis);
}

bool cw_standing_count(const struct cw_standing_rule *rule, bool is_off, unsigned *n)
{
    *n = is_off ? *n + 1 : 0;
    return *n >= rule->in_a_row;
}

bool cw_standing_yields(const struct cw_standing_rule *rule, bool is_refuted, double now,
                        double then)
{
    return then < now * (1 - (is_refuted ? rule->gain_refuted : rule->gain));
}
