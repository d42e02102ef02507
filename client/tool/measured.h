/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured of a pipeline's nodes, for people: by a run of its plan in this process, or by the
 * workers of a job. */
#ifndef CW_CLIENT_TOOL_MEASURED_H
#define CW_CLIENT_TOOL_MEASURED_H

#include "cachew/v1/admin.pb-c.h"
#include "graph/check.h"

struct tool_measured_node {
    char *name;
    double calls;      /* that were timed; 0: what follows is not known */
    double ns, cpu_ns; /* of an element that comes in */
    double keep;       /* share of these that comes out */
    double bytes;      /* of a whole element that comes out; 0: not known */
    /* Of a run in this process: it is called for many rows at once; only a part of the image that it
     * makes is needed. */
    bool by_block, makes_part;
};
struct tool_measured {
    size_t n; /* 0: nothing was measured */
    struct tool_measured_node *nodes;
    double elements_s; /* of the source, with as many threads as were asked for; 0: not known */
    double cpu_ns;     /* of all threads, for such an element; 0: not known */
};
/* Runs a pipeline with the engine of workers for so many seconds; nothing is cached. */
int tool_measured_run(struct cw_checked *checked, double seconds, size_t threads,
                      struct tool_measured *ret_measured, struct cw_err *err);
/* Takes what the workers of a job have measured. */
void tool_measured_of_reply(const Cachew__V1__ExplainReply *reply,
                            struct tool_measured *ret_measured);
/* Finds a node by its name, or NULL. */
const struct tool_measured_node *tool_measured_find(const struct tool_measured *measured,
                                                    const char *name);
void tool_measured_fini(struct tool_measured *measured);

#endif
