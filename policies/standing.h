/* SPDX-License-Identifier: Apache-2.0 */
/* When a decision that stands falls. It was made of a number; the decision is refuted if what is measured
 * is not that number, often enough, and gives way to another one that saves enough, less of it if it was
 * refuted. The rule is one, its numbers are not: an epoch differs from the next by more than the cost of an
 * operator, and a trainer's pace is seen in two windows. All of them stand here. Pure functions.
 *
 * Three things that look alike are not this rule. `autoscale auto` and `autoplace auto` call levels
 * contradictory by a sum of squared errors (scale_explain.h), and leave a number of workers by how probable
 * another is: they compare explanations, not a number with a measured one. scale_level.h leaves out windows
 * that differ from their median, where no decision stands. The published policies `cachew` and `pecan` keep
 * the numbers with which they were published, as options. */
#ifndef CW_POLICIES_STANDING_H
#define CW_POLICIES_STANDING_H

#include <stdbool.h>

struct cw_standing_rule {
    /* What is measured is off where it is more than `more` times what the decision was made of, or less than
     * `less` times; and by `least` besides, since short times differ for other reasons. */
    double more, less, least;
    unsigned in_a_row; /* so many measurements that are off, one after the other, refute */
    /* The part of its cost that another decision must save to take its place, and if it was refuted. */
    double gain, gain_refuted;
};
/* The part by which the lengths of equal epochs differ. */
#define CW_STANDING_EPOCH_NOISE 0.05
/* A cached node, by the length of an epoch (ns). */
extern const struct cw_standing_rule cw_standing_epoch;
/* A plan, by the cost of an operator or what passes it. */
extern const struct cw_standing_rule cw_standing_cost;
/* A number of workers, by the batches a second that the trainer takes. */
extern const struct cw_standing_rule cw_standing_demand;

/* Returns 1 where what is measured is above what the decision was made of by more than the rule allows, -1
 * where it is below, 0 otherwise. */
int cw_standing_side(const struct cw_standing_rule *rule, double now, double basis);
/* Whether it is off; if either is 0, that is not known, and it is not. */
bool cw_standing_is_off(const struct cw_standing_rule *rule, double now, double basis);
/* The same for what may differ by this part, as noise allows where it is known. */
bool cw_standing_differs(double now, double basis, double part);
/* Counts measurements that were off one after the other. Returns whether they refute the decision. */
bool cw_standing_count(const struct cw_standing_rule *rule, bool is_off, unsigned *n);
/* Whether the decision, whose cost is now, gives way to another one. */
bool cw_standing_yields(const struct cw_standing_rule *rule, bool is_refuted, double now,
                        double then);

#endif
