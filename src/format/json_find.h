/* SPDX-License-Identifier: Apache-2.0 */
/* Finds values in the text of a JSON object by their keys, without looking at what nobody asks for
 * more than is needed to pass it: its quotes have to be closed and its brackets to be as many as
 * there are. Any thread may use a plan. */
#ifndef CW_FORMAT_JSON_FIND_H
#define CW_FORMAT_JSON_FIND_H

#include "base/err.h"

/* Keys are paths: "a.b" is the member b of the object that is the member a. */
struct cw_json_plan;
int cw_json_plan_new(const char *const *paths, size_t n, struct cw_json_plan **ret_plan,
                     struct cw_err *err);
void cw_json_plan_free(struct cw_json_plan *plan);

enum cw_json_kind {
    CW_JSON_NONE, /* there is no such member */
    CW_JSON_NULL,
    CW_JSON_FALSE,
    CW_JSON_TRUE,
    CW_JSON_NUMBER,
    CW_JSON_STRING,
    CW_JSON_LIST,
    CW_JSON_OBJECT
};
const char *cw_json_kind_name(enum cw_json_kind kind);
struct cw_json_slice {
    const char *p; /* of a string what is between its quotes; else all of the value */
    size_t n;
    enum cw_json_kind kind;
    bool is_escaped; /* a string with a backslash in it */
};
/* Finds the value of each path in p, which has to be one object. Of members with one key the last
 * counts. ret_slices has a place for each path. Messages say at which byte of p. */
int cw_json_find(const struct cw_json_plan *plan, const char *p, size_t n,
                 struct cw_json_slice *ret_slices, struct cw_err *err);
/* The value that p consists of, whatever it is. */
int cw_json_whole(const char *p, size_t n, struct cw_json_slice *ret_slice, struct cw_err *err);

#endif
