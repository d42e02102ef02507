/* SPDX-License-Identifier: Apache-2.0 */
/* libcachew: input data processing for machine learning as a service. This header includes all
 * of it. */
#ifndef CACHEW_H
#define CACHEW_H

#include "cachew/client.h"
#include "cachew/error.h"
#include "cachew/pipeline.h"
#include "cachew/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif
/* "0.1.0". Any thread. */
const char *cachew_version(void);
#ifdef __cplusplus
}
#endif
#endif
