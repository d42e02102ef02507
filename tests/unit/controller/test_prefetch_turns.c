/* SPDX-License-Identifier: Apache-2.0 */
/* Whose CacheBackend is warmed next, and which one makes room: with two at a time, no namespace waits for ever,
 * whatever the others have. */
#include "controller/prefetch_turns.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "support/cm.h"

#define TURN_MS 1000
#define SLOTS 2
#define NAMESPACES 3

static void order(void **state)
{
    const struct cw_turn_wanted none = {"a", 0, 7, 9}, one = {"b", 1, 1, 1};
    const struct cw_turn_wanted never = {"c", 0, 0, 10}, early = {"a", 0, 7, 8};
    (void)state;
    assert_true(cw_turn_is_before(&none, &one)); /* fewer under way */
    assert_false(cw_turn_is_before(&one, &none));
    assert_true(cw_turn_is_before(&never, &none)); /* served longest ago */
    assert_true(cw_turn_is_before(&early, &none)); /* came first */
    assert_false(cw_turn_is_before(&none, &none));
}

static void room(void **state)
{
    const struct cw_turn_wanted other = {"b", 0, 0, 1}, same = {"a", 2, 5, 1},
                                equal = {"b", 1, 5, 1};
    const struct cw_turn_taken two = {"a", 2, 100}, alone = {"a", 1, 100};
    (void)state;
    assert_false(cw_turn_is_over(&two, &other, 100 + TURN_MS - 1, TURN_MS));
    assert_true(cw_turn_is_over(&two, &other, 100 + TURN_MS, TURN_MS));
    assert_true(cw_turn_is_over(&alone, &other, 100 + TURN_MS, TURN_MS));
    assert_true(cw_turn_is_over(&two, &same, 100 + TURN_MS, TURN_MS));
    assert_false(cw_turn_is_over(&alone, &equal, 1 << 30, TURN_MS)); /* both have one */
}

/* Three namespaces with 50, 1 and 2 that never end: in each turn somebody is served, and within a round all. */
static void nobody_starves(void **state)
{
    static const char *const names[NAMESPACES] = {"many", "one", "two"};
    size_t waiting[NAMESPACES] = {50, 1, 2}, running[NAMESPACES] = {0}, turns[NAMESPACES] = {0};
    uint64_t served[NAMESPACES] = {0}, number = 0;
    struct {
        size_t of;
        int64_t begun_ms;
    } slots[SLOTS];
    size_t used = 0;
    (void)state;
    for (int64_t now = 0; now < 60 * TURN_MS; now += TURN_MS / 4) {
        struct cw_turn_wanted next = {0};
        size_t of = NAMESPACES;
        for (size_t i = 0; i < NAMESPACES; i++) {
            const struct cw_turn_wanted wanted = {names[i], running[i], served[i], i + 1};
            if (waiting[i] > 0 && (of == NAMESPACES || cw_turn_is_before(&wanted, &next))) {
                next = wanted;
                of = i;
            }
        }
        for (size_t k = 0; k < used && used == SLOTS; k++) {
            const struct cw_turn_taken taken = {names[slots[k].of], running[slots[k].of],
                                                slots[k].begun_ms};
            if (!cw_turn_is_over(&taken, &next, now, TURN_MS))
                continue;
            running[slots[k].of]--;
            waiting[slots[k].of]++;
            slots[k] = slots[--used];
        }
        if (used == SLOTS)
            continue;
        slots[used].of = of;
        slots[used++].begun_ms = now;
        running[of]++;
        waiting[of]--;
        served[of] = ++number;
        turns[of]++;
    }
    for (size_t i = 0; i < NAMESPACES; i++)
        if (turns[i] < 15)
            fail_msg("%s was served %zu times", names[i], turns[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(room),
        cmocka_unit_test(nobody_starves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
