/* SPDX-License-Identifier: Apache-2.0 */
/* Little data for the pipelines of docs/examples, in a folder of its own. */
#ifndef CW_TESTS_EXEC_EXAMPLE_DATA_H
#define CW_TESTS_EXEC_EXAMPLE_DATA_H

#include "plan/plan.h"

/* Makes the folder; clips are MP3 if `lossy`, and WAV otherwise, whatever their names are. */
void example_data_make(bool lossy);
void example_data_remove(void);

/* The plan of an example, by its path below docs/examples without ".json", with the folder for its /data; the
 * last batch may have too few rows. Fails the test if it is refused. */
struct cw_plan *example_data_plan(const char *name, uint64_t seed);
/* The plan of a pipeline as text, which says "/data" for the folder. */
struct cw_plan *example_data_plan_of(const char *name, const char *text, uint64_t seed);

#endif
