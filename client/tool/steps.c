/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/steps.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define STEP_MAX_MS 3600000

/* Parses one step, for example "100@20s"; the first has no time. */
static bool parse_one(char *text, bool first, int64_t *ret_at_ns, int64_t *ret_step_ns)
{
    int64_t ms, at_ms = 0;
    char *at = strchr(text, '@');
    if (at)
        *at++ = '\0';
    if ((at != NULL) == first || (at && !cw_str_to_ms(at, &at_ms)))
        return false;
    if (!cw_str_to_i64(text, &ms) || ms < 0 || ms > STEP_MAX_MS)
        return false;
    *ret_at_ns = at_ms * 1000000;
    *ret_step_ns = ms * 1000000;
    return true;
}

int tool_steps_parse(const char *text, struct tool_steps *ret_steps, struct cw_err *err)
{
    struct tool_steps steps = {0};
    cw_autofree char *copy = cw_mem_strdup(text);
    for (char *at = copy, *next; at; at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        if (steps.n == TOOL_STEPS_MAX)
            return cw_err_set(err, CW_E_LIMIT, "option --step-ms: at most %d steps",
                              TOOL_STEPS_MAX);
        if (!parse_one(at, steps.n == 0, &steps.at_ns[steps.n], &steps.step_ns[steps.n]) ||
            (steps.n > 0 && steps.at_ns[steps.n] <= steps.at_ns[steps.n - 1]))
            return cw_err_set(err, CW_E_INVALID,
                              "option --step-ms: not milliseconds up to %d, or a list of them with "
                              "rising times, as in 200,100@20s,200@60s (given \"%s\")",
                              STEP_MAX_MS, text);
        steps.n++;
    }
    *ret_steps = steps;
    return 0;
}

int64_t tool_steps_at(const struct tool_steps *steps, int64_t since_first_ns)
{
    int64_t step = 0;
    for (size_t i = 0; i < steps->n && steps->at_ns[i] <= since_first_ns; i++)
        step = steps->step_ns[i];
    return step;
}
