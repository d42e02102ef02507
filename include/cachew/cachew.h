/* SPDX-License-Identifier: Apache-2.0 */
/* libcachew: input data processing for machine learning as a service. This header includes the
 * whole API:
 *
 *   error.h     error codes and messages
 *   tensor.h    what a tensor of a batch looks like
 *   pipeline.h  describing what is to be computed
 *   client.h    connecting to a service, starting a job, receiving its batches
 *   log.h       what the library says besides errors
 *   spec.h      what a pipeline gives, before it does
 *   waiting.h   what a job waits for
 *
 * Conventions of all functions: arguments called ret_... are written on success only, unless the
 * function says otherwise. Objects are opaque and are freed by the function that their header
 * names; these accept NULL. Pointers that are not said to accept NULL must not be NULL. Texts are
 * UTF-8 and NUL-terminated. docs/c-api.md shows how the functions fit together. */
#ifndef CACHEW_H
#define CACHEW_H

#include "cachew/client.h"
#include "cachew/error.h"
#include "cachew/log.h"
#include "cachew/pipeline.h"
#include "cachew/spec.h"
#include "cachew/tensor.h"
#include "cachew/waiting.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The version of the library that is linked, for example "0.1.0". The text is static. Any
 * thread. */
const char *cachew_version(void);
#ifdef __cplusplus
}
#endif
#endif
