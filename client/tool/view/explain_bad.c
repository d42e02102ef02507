/* SPDX-License-Identifier: Apache-2.0 */
/* The bad elements of a job as `cachew explain` shows them. */
#include "client/tool/bad_elements_file.h"
#include "client/tool/tool.h"
#include "client/tool/view/explain.h"

void tool_explain_bad(const Cachew__V1__ExplainReply *reply)
{
    if (reply->bad_n == 0)
        return;
    printf("Bad elements left out of what its trainers took: %llu%s\n",
           (unsigned long long)reply->bad_n, reply->n_bad > 0 ? "; the first of them:" : ".");
    for (size_t i = 0; i < reply->n_bad; i++) {
        const Cachew__V1__BadElement *bad = reply->bad[i];
        CW_STR_AUTO line = {0};
        const struct cachew_bad_element element = {.epoch = bad->epoch,
                                                   .batch = bad->batch,
                                                   .elements = bad->elements,
                                                   .source = bad->source,
                                                   .node = bad->node,
                                                   .op = bad->op,
                                                   .reason = bad->reason};
        tool_bad_text(&element, &line);
        tool_print_lines(cw_str_text(&line), 2);
    }
}
