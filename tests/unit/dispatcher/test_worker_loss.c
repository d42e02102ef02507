/* SPDX-License-Identifier: Apache-2.0 */
/* Half of a fleet is lost in one turn of the loop. What that costs grows with the number of workers
 * that are lost, not with its product with the number of workers and jobs that there are: steps are
 * counted at the calls that each look at another worker, share or lease makes. */
#include "dispatcher/lease/lease.h"
#include "dispatcher/scaling/scaling.h"
#include "unit/dispatcher/peers.h"

#define FLEET_MAX 400
#define ITEMS 100000

static uint64_t steps_n;

void __real_cw_set_remove_all(struct cw_set *set, const struct cw_set *other);
void __wrap_cw_set_remove_all(struct cw_set *set, const struct cw_set *other);
void __wrap_cw_set_remove_all(struct cw_set *set, const struct cw_set *other)
{
    steps_n++;
    __real_cw_set_remove_all(set, other);
}

bool __real_cw_share_is_used(const struct cw_share *share);
bool __wrap_cw_share_is_used(const struct cw_share *share);
bool __wrap_cw_share_is_used(const struct cw_share *share)
{
    steps_n++;
    return __real_cw_share_is_used(share);
}

/* Every time that it is looked at, a millisecond has passed. */
int64_t __real_cw_clock_ms(void);
int64_t __wrap_cw_clock_ms(void);
int64_t __wrap_cw_clock_ms(void)
{
    static int64_t later;
    return __real_cw_clock_ms() + later++;
}

static struct cw_job *begin_job(struct cw_stream *worker)
{
    Cachew__V1__JobOptions options = CACHEW__V1__JOB_OPTIONS__INIT;
    char name[] = "many";
    options.name = name;
    options.graph = peers_graph(ITEMS);
    (void)peers_trainer(100, &options);
    peers_prepared(worker, ITEMS);
    peers_turn();
    cachew__v1__graph__free_unpacked(options.graph, NULL);
    assert_int_equal(made_up.jobs->status, CW_JOB_RUNNING);
    return made_up.jobs;
}

static size_t leased_to(const struct cw_job *job)
{
    size_t n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        n += share->leases != NULL;
    return n;
}

/* Returns the steps that the loss of every second of n workers has taken. */
static uint64_t lose_half(unsigned n)
{
    static struct cw_stream *workers[FLEET_MAX];
    workers[0] = peers_worker(1, 2);
    struct cw_job *job = begin_job(workers[0]);
    for (unsigned i = 1; i < n; i++)
        workers[i] = peers_worker(1 + i, 2);
    peers_turn();
    assert_int_equal(leased_to(job), n);
    uint64_t leased_n = cw_set_count(&job->epochs[0]->leased);
    steps_n = 0;
    for (unsigned i = 1; i < n; i += 2)
        peers_break(workers[i], CW_E_UNAVAILABLE, "it is gone");
    uint64_t steps = steps_n;
    assert_int_equal(made_up.workers_n, n / 2);
    uint64_t first = cw_set_first_absent(&job->epochs[0]->leased, 0);
    assert_true(cw_set_count(&job->epochs[0]->leased) < leased_n && first < leased_n);
    peers_turn(); /* the others get what these held */
    assert_true(cw_set_first_absent(&job->epochs[0]->leased, 0) > first);
    return steps;
}

static uint64_t small_fleet;

static void a_small_fleet(void **state)
{
    (void)state;
    small_fleet = lose_half(FLEET_MAX / 4);
    assert_true(small_fleet > 0);
}

static void a_large_fleet(void **state)
{
    (void)state;
    uint64_t steps = lose_half(FLEET_MAX);
    if (steps > 5 * small_fleet)
        fail_msg("%llu steps, and %llu in a fleet of a quarter", (unsigned long long)steps,
                 (unsigned long long)small_fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_fleet, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(a_large_fleet, peers_begin, peers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
