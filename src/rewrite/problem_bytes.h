/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of fields: those that their specs say, and parts of what was measured. */
#ifndef CW_REWRITE_PROBLEM_BYTES_H
#define CW_REWRITE_PROBLEM_BYTES_H

#include "rewrite/profile.h"

/* -1: not known before the data are read. */
double cw_problem_known_bytes(const struct cw_field *field);
/* Sets the bytes of these fields of a spec: those that are known, and for the others their parts of
 * what was measured of all of them together (less than 0: of none; they stay as they were). */
void cw_problem_set_bytes(const struct cw_spec *spec, const struct cw_field_set *fields,
                          double measured, double *bytes);
/* Goes on from the bytes of a node's inputs (bytes + CW_FIELDS_MAX * i are those of node i) to its own, by what it makes
 * of them; a zip has the fields of all of its inputs. whole: images are made whole. */
void cw_problem_pass_bytes(const struct cw_checked *checked, const struct cw_cost_profile *profile,
                           size_t node, bool whole, double *bytes);

#endif
