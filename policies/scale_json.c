/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the input of a policy about workers as JSON, and reads it. */
#include "policies/numbers.h"
#include "policies/scale.h"

#define WINDOW(field) CW_NUMBER_ANY(cw_scale_window, field)
#define AVAILABLE(field) CW_NUMBER_ANY(cw_scale_available, field)
#define OPTION(field) CW_NUMBER_ANY(cw_scale_options, field)
#define STATE(field) CW_NUMBER_ANY(cw_scale_state, field)
#define LEVEL(field) CW_NUMBER_ANY(cw_scale_level, field)
static const struct cw_number window_numbers[] = {WINDOW(at_s),
                                                  WINDOW(seconds),
                                                  WINDOW(batches),
                                                  WINDOW(wait_share),
                                                  WINDOW(queue),
                                                  WINDOW(step_s),
                                                  WINDOW(rate),
                                                  WINDOW(cpu),
                                                  WINDOW(remote),
                                                  WINDOW(local),
#define THREAD_USE(field, words) WINDOW(threads.field),
                                                  CW_THREAD_USES(THREAD_USE)
#undef THREAD_USE
};
static const struct cw_number available_numbers[] = {AVAILABLE(remote), AVAILABLE(local),
                                                     AVAILABLE(granted)};
static const struct cw_number option_numbers[] = {
    OPTION(min_workers),    OPTION(max_workers),  OPTION(max_local),   OPTION(max_stall),
    OPTION(client_price),   OPTION(worker_price), OPTION(up),          OPTION(down),
    OPTION(stable_windows), OPTION(queue_growth), OPTION(time_growth), OPTION(outlier),
    OPTION(error_bar),      OPTION(cpu_target),   OPTION(settle_s)};
static const struct cw_number option_flags[] = {
    CW_NUMBER_FLAG_OF(cw_scale_options, published_quirks, true)};
static const struct cw_number state_numbers[] = {STATE(remote),      STATE(local),  STATE(calm),
                                                 STATE(phase_count), STATE(demand), STATE(moves),
                                                 STATE(age),         STATE(here),   STATE(doubt)};
static const struct cw_number level_numbers[] = {
    LEVEL(workers), LEVEL(local),  LEVEL(windows), LEVEL(given), LEVEL(demand),
    LEVEL(wait),    LEVEL(rate),   LEVEL(free),    LEVEL(yield), LEVEL(used),
    LEVEL(held),    LEVEL(before), LEVEL(at_most)};
static const char *const phases[] = {[CW_SCALE_BEGIN] = "begin",
                                     [CW_SCALE_REMOTE_UP] = "remote_up",
                                     [CW_SCALE_LOCAL_UP] = "local_up",
                                     [CW_SCALE_REMOTE_DOWN] = "remote_down",
                                     [CW_SCALE_STABLE] = "stable"};

/* ---- printing ---- */

void cw_scale_window_print(const struct cw_scale_window *window, struct cw_str *out)
{
    cw_str_add(out, "{");
    cw_numbers_print(window, CW_NUMBERS(window_numbers), out);
    cw_str_add(out, "}");
}

static void add_state(const struct cw_scale_state *state, struct cw_str *out)
{
    cw_str_addf(out, "{\"phase\":\"%s\",\"numbers\":{",
                (size_t)state->phase < CW_ARRAY_LEN(phases) ? phases[state->phase] : "");
    cw_numbers_print(state, CW_NUMBERS(state_numbers), out);
    cw_str_add(out, "},\"converged\":");
    cw_scale_window_print(&state->converged, out);
    cw_str_add(out, ",\"levels\":[");
    for (size_t i = 0; i < state->levels_n; i++) {
        cw_str_add(out, i > 0 ? ",{" : "{");
        cw_numbers_print(&state->levels[i], CW_NUMBERS(level_numbers), out);
        cw_str_add(out, "}");
    }
    cw_str_add(out, "],\"history\":[");
    for (size_t i = 0; i < state->history_n; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        cw_scale_window_print(&state->history[i], out);
    }
    cw_str_add(out, "]}");
}

void cw_scale_inputs_print(const struct cw_scale_inputs *inputs, struct cw_str *out)
{
    cw_str_add(out, "{\"window\":");
    cw_scale_window_print(&inputs->window, out);
    cw_str_add(out, ",\"available\":{");
    cw_numbers_print(&inputs->available, CW_NUMBERS(available_numbers), out);
    cw_str_add(out, "},\"options\":{");
    cw_numbers_print(&inputs->options, CW_NUMBERS(option_numbers), out);
    cw_str_add(out, "}");
    cw_numbers_print(&inputs->options, CW_NUMBERS(option_flags), out);
    cw_str_add(out, ",\"state\":");
    add_state(&inputs->state, out);
    cw_str_add(out, "}");
}

/* ---- reading ---- */

static int read_numbers(const struct cw_value *value, const char *what, void *object,
                        const struct cw_number *numbers, size_t n, struct cw_err *err)
{
    if (!value || value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "\"%s\" must be an object", what);
    return cw_numbers_read(value, numbers, n, object, err) < 0 ? cw_err_wrap(err, "%s", what) : 0;
}

static int read_window(const struct cw_value *value, const char *what,
                       struct cw_scale_window *window, struct cw_err *err)
{
    return read_numbers(value, what, window, CW_NUMBERS(window_numbers), err);
}

static int read_levels(const struct cw_value *list, struct cw_scale_state *state,
                       struct cw_err *err)
{
    size_t n = list && list->type == CW_VALUE_LIST ? list->n : 0;
    int rc = 0;
    if (n > CW_SCALE_LEVELS)
        return cw_err_set(err, CW_E_INVALID, "\"state.levels\" has more than %d", CW_SCALE_LEVELS);
    for (; rc == 0 && state->levels_n < n; state->levels_n++)
        rc = read_numbers(&list->items[state->levels_n], "state.levels",
                          &state->levels[state->levels_n], CW_NUMBERS(level_numbers), err);
    return rc;
}

static int read_state(const struct cw_value *value, struct cw_scale_state *state,
                      struct cw_err *err)
{
    if (!value || value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "\"state\" must be an object");
    const struct cw_value *phase = cw_value_get(value, "phase"),
                          *history = cw_value_get(value, "history");
    size_t n = history && history->type == CW_VALUE_LIST ? history->n : 0, at = 0;
    while (at < CW_ARRAY_LEN(phases) &&
           !(phase && phase->type == CW_VALUE_STR && cw_str_eq(phases[at], phase->s)))
        at++;
    if (at == CW_ARRAY_LEN(phases) || n > CW_SCALE_HISTORY)
        return cw_err_set(err, CW_E_INVALID, "\"state\" has no such phase, or more than %d windows",
                          CW_SCALE_HISTORY);
    state->phase = (enum cw_scale_phase)at;
    int rc = read_numbers(cw_value_get(value, "numbers"), "state.numbers", state,
                          CW_NUMBERS(state_numbers), err);
    if (rc == 0)
        rc = read_window(cw_value_get(value, "converged"), "state.converged", &state->converged,
                         err);
    if (rc == 0)
        rc = read_levels(cw_value_get(value, "levels"), state, err);
    for (; rc == 0 && state->history_n < n; state->history_n++)
        rc = read_window(&history->items[state->history_n], "state.history",
                         &state->history[state->history_n], err);
    return rc;
}

static int read_inputs(const struct cw_value *value, struct cw_scale_inputs *inputs,
                       struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "they must be an object");
    int rc = read_window(cw_value_get(value, "window"), "window", &inputs->window, err);
    if (rc == 0)
        rc = read_numbers(cw_value_get(value, "available"), "available", &inputs->available,
                          CW_NUMBERS(available_numbers), err);
    if (rc == 0)
        rc = read_numbers(cw_value_get(value, "options"), "options", &inputs->options,
                          CW_NUMBERS(option_numbers), err);
    if (rc == 0)
        rc = cw_numbers_read(value, CW_NUMBERS(option_flags), &inputs->options, err);
    return rc == 0 ? read_state(cw_value_get(value, "state"), &inputs->state, err) : rc;
}

int cw_scale_inputs_parse(const char *text, size_t n, struct cw_scale_inputs *ret_inputs,
                          struct cw_err *err)
{
    struct cw_value value = {0};
    struct cw_scale_inputs inputs = {0};
    int rc = cw_value_parse(text, n, "inputs", &value, err);
    if (rc == 0)
        rc = read_inputs(&value, &inputs, err);
    cw_value_fini(&value);
    if (rc < 0)
        return cw_err_wrap(err, "not what a policy about workers is shown");
    *ret_inputs = inputs;
    return 0;
}
