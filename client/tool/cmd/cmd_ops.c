/* SPDX-License-Identifier: Apache-2.0 */
/* cachew ops [NAME]: prints the operators from their tables. */
#include <string.h>

#include "client/tool/op_cases.h"
#include "client/tool/tool.h"
#include "ops/describe.h"
#include "ops/plugin.h"

int tool_cmd_ops(int argc, char **argv)
{
    bool json = false, markdown = false;
    const char *cases = NULL;
    struct cw_err err = {0};
    const struct cw_arg rows[] = {
        TOOL_ROW_PLUGIN("load operators of one's own; may stand several times"),
        {"test", 0, CW_ARG_STR, &cases, "CASES.json",
         "run cases of operators of one's own instead, and print those that fail", 0, 0},
        TOOL_ROW_JSON(&json, "print JSON"),
        {"markdown", 0, CW_ARG_FLAG, &markdown, NULL,
         "print the reference that is docs/operators.md", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew ops",
                                      .usage = "[NAME] [options]",
                                      .about = "Lists the operators, or describes one: its "
                                               "options, defaults, what it takes and gives.",
                                      .rows = rows};
    const char *names[1];
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, names, 1, &n, &code))
        return code;
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    if (cases)
        return tool_op_cases(cases);
    const struct cw_op *op = NULL;
    if (n == 1 && !(op = cw_op_find(names[0]))) {
        const char *near = cw_op_nearest(names[0]);
        return near ? tool_fail("no operator \"%s\": did you mean \"%s\"?", names[0], near)
                    : tool_fail("no operator \"%s\": `cachew ops` lists them", names[0]);
    }
    CW_STR_AUTO out = {0};
    if (json)
        cw_ops_describe_json(op, &out);
    else if (markdown)
        cw_ops_describe_markdown(op, &out);
    else
        cw_ops_describe_text(op, &out);
    fputs(cw_str_text(&out), stdout);
    return TOOL_OK;
}
