/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of a published policy about workers: its constants and quirks, as in
 * "cachew:up=0.05,quirks=published". The same in dispatcher, job and simulator. */
#ifndef CW_POLICIES_SCALE_SETTINGS_H
#define CW_POLICIES_SCALE_SETTINGS_H

#include "policies/scale.h"

struct cw_scale_setting {
    const char *key;
    size_t offset; /* of a double in struct cw_scale_options */
    double least, most;
};
#define CW_SCALE_SETTING(key, field, least, most)                                                  \
    {                                                                                              \
        key, offsetof(struct cw_scale_options, field), least, most                                 \
    }

/* Sets what the argument says; quirks: whether "quirks=published" and "quirks=corrected" are known.
 * NULL and "" say nothing. INVALID names the keys that there are. */
int cw_scale_settings(const char *policy, const char *argument,
                      const struct cw_scale_setting *settings, size_t n, bool quirks,
                      struct cw_scale_options *options, struct cw_err *err);

#endif
