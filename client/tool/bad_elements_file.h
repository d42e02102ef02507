/* SPDX-License-Identifier: Apache-2.0 */
/* Bad elements that were left out, for whoever repairs the data set: the file of `--bad-list`, which
 * has one line of JSON for each, and the first ones on stderr. The file has each element once, also
 * when a run is killed and goes on: a batch whose elements are in the file is not written again, and
 * what a killed run had not written whole is removed. */
#ifndef CW_CLIENT_TOOL_BAD_ELEMENTS_FILE_H
#define CW_CLIENT_TOOL_BAD_ELEMENTS_FILE_H

#include <stdio.h>
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "cachew/cachew.h"

struct tool_bad_list {
    const char *path; /* NULL: there is no file */
    bool quiet;       /* nothing is printed on stderr */
    FILE *file;
    struct cw_map
        written; /* epoch -> struct cw_set *: the batches that an earlier run has written */
    uint64_t n, printed;
};

/* Opens the file, if there is one. fresh: the job begins at its beginning, so what an earlier run has
 * written is removed. */
int tool_bad_list_open(struct tool_bad_list *list, const char *path, bool quiet, bool fresh,
                       struct cw_err *err);
/* Whether the job begins at its beginning. */
bool tool_bad_list_is_fresh(const struct cachew_job *job);
/* Takes what was left out of what cachew_job_next returned last. */
int tool_bad_list_take(struct tool_bad_list *list, const struct cachew_job *job,
                       struct cw_err *err);
/* Closes the file, and says on stderr how many more there are than were printed. */
int tool_bad_list_close(struct tool_bad_list *list, struct cw_err *err);

/* tool_fail_cachew for the error of a job; of a bad element, with the options that leave it out, unless
 * they are given. */
int tool_bad_fail(const struct cachew_error *error, bool skips);

/* Appends one line of text about an element, without line ends. */
void tool_bad_text(const struct cachew_bad_element *element, struct cw_str *out);

#endif
