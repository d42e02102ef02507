/* SPDX-License-Identifier: Apache-2.0 */
/* Plans are read without believing them, and what they say of a pipeline is carried out or refused with a
 * reason. */
#include "base/mem.h"
#include "conf/value_yaml.h"
#include "rewrite/apply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct cw_checked *pipeline(void)
{
    static const char TEXT[] =
        "{\"pipeline\": [{\"op\": \"range\", \"name\": \"a\", \"stop\": 9},"
        "{\"op\": \"eval\", \"name\": \"b\", \"expr\": \"x + 1\", \"out\": \"y\"},"
        "{\"op\": \"filter\", \"name\": \"c\", \"expr\": \"x > 1\"},"
        "{\"op\": \"burn\", \"name\": \"d\", \"ms\": 0},"
        "{\"op\": \"batch\", \"name\": \"e\", \"size\": 2}]}";
    static struct cw_checked *checked;
    struct cw_graph *graph = NULL;

    if (!checked) {
        CW_ASSERT(cw_graph_parse(TEXT, sizeof(TEXT) - 1, "", &graph, NULL) == 0);
        CW_ASSERT(cw_graph_check(graph, &checked, NULL) == 0);
        cw_graph_unref(graph);
    }
    return checked;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_value value = {0};
    struct cw_order_plan plan = {0};
    struct cw_rewritten made = {0};
    struct cw_err err = {0};
    int rc = cw_value_parse_yaml(n ? (const char *)data : "", n, "fuzz", &value, &err);

    if (rc == 0)
        rc = cw_order_plan_from(&value, "fuzz", &plan, &err);
    if (rc == 0)
        rc = cw_rewrite(pipeline(), &plan, &made, &err);
    CW_ASSERT(rc <= 0 && (rc == 0 || err.msg[0]));
    CW_ASSERT(rc < 0 || made.checked->graph->n == 5);
    cw_rewritten_fini(&made);
    cw_order_plan_fini(&plan);
    cw_value_fini(&value);
    return 0;
}
