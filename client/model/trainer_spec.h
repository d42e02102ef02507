/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CW_CLIENT_MODEL_TRAINER_SPEC_H
#define CW_CLIENT_MODEL_TRAINER_SPEC_H

#include "data/spec.h"

/* A spec as the trainer holds it. */
struct cachew_spec {
    struct cw_spec of;
};

#endif
