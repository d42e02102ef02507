/* SPDX-License-Identifier: Apache-2.0 */
/* One explanation of what was seen, fitted by least squares. An explanation is a formula of what n
 * workers give: the smallest of what the trainer takes, a ceiling (source, store, network, CPU or a
 * quota give no more), and the curve
 *
 *     n r / (1 + a (n - 1) + n (n - 1) / p^2)
 *     r  rate of one worker      a  contention: each further worker costs the others some of it
 *     p  peak: more workers than that give less in total
 *
 * A local worker counts as a part of a remote one, or as more than one: its speed.
 *
 * It says which of the parameters there are, and which numbers of workers met the ceiling. All
 * parameters but `a` are logarithms, so that errors are relative. The functions are pure. */
#ifndef CW_POLICIES_SCALE_FIT_H
#define CW_POLICIES_SCALE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define CW_SCALE_SEEN_MOST 32

enum cw_scale_parameter {
    CW_SCALE_RATE,
    CW_SCALE_CEILING,
    CW_SCALE_DEMAND,
    CW_SCALE_CONTENTION,
    CW_SCALE_PEAK,
    CW_SCALE_SPEED,  /* of a local worker, if it differs from a remote one's */
    CW_SCALE_CHANGE, /* the ratio of now to before a change, of the rate or of the ceiling */
    CW_SCALE_PARAMETERS
};
enum cw_scale_sight {
    CW_SCALE_SEES_GIVEN,  /* what the workers gave */
    CW_SCALE_SEES_SHARE,  /* that, as a part of the trainer's demand */
    CW_SCALE_SEES_CURVE,  /* what they could have given without a ceiling */
    CW_SCALE_SEES_FREE,   /* what they gave, as a part of that: their threads waited the rest */
    CW_SCALE_SEES_USED,   /* the trainer's demand, as a part of that */
    CW_SCALE_SEES_DEMAND, /* the trainer's demand */
};
struct cw_scale_seen { /* one thing that was seen */
    enum cw_scale_sight sight;
    double workers, local, value; /* value: a logarithm */
    double weight;                /* 1 / variance, in units of the noise of one window */
    bool at_least, at_most;       /* the true value may be larger, or smaller */
    bool before;                  /* it was seen before the last change */
};
struct cw_scale_sights {
    struct cw_scale_seen seen[CW_SCALE_SEEN_MOST];
    size_t n;
    bool one_sided; /* one of them says the most that there was */
    double waits;   /* a trainer that waits this part of its time is limited by its workers */
    double noise;   /* relative standard deviation of one window */
    double most;    /* largest number of workers that is possible */
};
struct cw_scale_fit {
    const struct cw_scale_sights *sights;  /* what it explains */
    unsigned has;                          /* set of parameters: bit 1 << CW_SCALE_RATE and so on */
    double last, last_local;               /* more workers than these met the ceiling */
    double last_before, last_before_local; /* and before the change */
    bool crowded; /* local workers are much slower: the trainer's host has little to spare */
    bool shared;  /* local workers give as much together as one of them alone */
    bool ceiling_changed; /* CW_SCALE_CHANGE is that of the ceiling, not of the rate */
    double usual;         /* usual size of the contention */
    double v[CW_SCALE_PARAMETERS];
    bool guessed;       /* nothing was seen of the rate */
    double least;       /* then the fewest workers that met the ceiling: the knee is not above */
    double misfit;      /* sum of squared errors, in units of their variance */
    double likelihood;  /* logarithm of how likely the explanation makes what was seen */
    double knee, error; /* the number of workers that are enough; its standard deviation */
    double probability;
};

/* Fits the values of the parameters that the explanation has. Returns false if what was seen does
 * not determine them. */
bool cw_scale_fit(struct cw_scale_fit *fit, const struct cw_scale_sights *sights);
/* Returns what so many remote workers give, or others that do as much. */
double cw_scale_fit_gives(const struct cw_scale_fit *fit, double workers);
/* Returns as how many remote workers these count. */
double cw_scale_fit_count(const struct cw_scale_fit *fit, double workers, double local);
/* Moves the parameters by so many standard deviations, each on its own: one of the values that
 * explain what was seen as well, but for its noise. */
void cw_scale_fit_vary(struct cw_scale_fit *fit, const double sigmas[CW_SCALE_PARAMETERS]);
/* Computes knee, the fewest workers (a fraction) that give the most of any number, less the slack,
 * and its relative error. */
void cw_scale_fit_find_knee(struct cw_scale_fit *fit, const struct cw_scale_sights *sights,
                            double slack);

#endif
