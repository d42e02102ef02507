/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens.h"

#include <stdio.h>

#include "cluster.h"
#include "disk.h"

/* The dispatcher looks at its file once a second. */
#define SEEN_NS (2 * SIM_S)
#define STEP_NS (8 * SIM_S)

enum step { BESIDE, SHOWN, ALONE, STEPS_N };
struct tokens {
    enum step next;
    unsigned number; /* of the tokens that are shown */
};

static void write_shown(unsigned number)
{
    static const char *const who[][2] = {{SIM_TOKEN_OF_TRAINERS, "trainers"},
                                         {SIM_TOKEN_OF_WORKERS, "workers"},
                                         {SIM_TOKEN_OF_OPERATORS, "operators"},
                                         {SIM_TOKEN_OF_OTHERS, "others"}};
    for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "%s-token-%08u\n", who[i][1], number);
        sim_disk_put(who[i][0], text);
    }
}

/* The tokens of these numbers count, both included. */
static void write_counting(unsigned first, unsigned last)
{
    char text[1024];
    int n = 0;
    for (unsigned i = first; i <= last; i++)
        n += snprintf(&text[n], sizeof(text) - (size_t)n,
                      "default tenant trainers-token-%08u\nhosts worker workers-token-%08u\n"
                      "root operator operators-token-%08u\nother tenant others-token-%08u\n",
                      i, i, i, i);
    sim_disk_put(SIM_TOKENS, text);
}

static void step(void *arg)
{
    struct tokens *tokens = arg;
    if (tokens->next == BESIDE)
        write_counting(tokens->number, tokens->number + 1);
    else if (tokens->next == SHOWN)
        write_shown(++tokens->number);
    else
        write_counting(tokens->number, tokens->number);
    sim_log("tokens: step %d of number %u", (int)tokens->next, tokens->number);
    tokens->next = (enum step)((tokens->next + 1) % STEPS_N);
    sim_at(NULL, sim_now_ns() + sim_between(SEEN_NS, STEP_NS), step, tokens);
}

void sim_tokens_begin(bool rotate)
{
    struct tokens *tokens = sim_world_alloc(sizeof(*tokens));
    write_counting(0, 0);
    write_shown(0);
    if (rotate)
        sim_at(NULL, sim_now_ns() + sim_between(0, STEP_NS), step, tokens);
}
