/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a job's batches, for who may see the job: only where the operator allows it, only while
 * somebody looks, and only what a worker of the job shows. */
#include <string.h>

#include "base/limits.h"
#include "dispatcher/access/access.h"
#include "dispatcher/job/job.h"
#include "unit/dispatcher/peers.h"

static const struct cw_caller other = {.kind = CW_CALLER_TENANT, .name = "other"};
static char name[] = "seen";

static const Cachew__V1__ShowElementsReply *look(void)
{
    Cachew__V1__ShowElementsRequest request = CACHEW__V1__SHOW_ELEMENTS_REQUEST__INIT;
    request.job = name;
    const struct peers_answer *got =
        peers_ask("ShowElements", &request.base, &cachew__v1__show_elements_reply__descriptor);
    assert_int_equal(got->code, 0);
    return (const Cachew__V1__ShowElementsReply *)got->reply;
}

static void show(struct cw_stream *worker, const char *job_id, uint64_t item, size_t n)
{
    Cachew__V1__ShownElement element = CACHEW__V1__SHOWN_ELEMENT__INIT,
                             *elements[CW_SHOWN_ELEMENTS_MAX + 1];
    Cachew__V1__ElementsShown shown = CACHEW__V1__ELEMENTS_SHOWN__INIT;
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    for (size_t i = 0; i < n; i++)
        elements[i] = &element;
    shown.job_id = (char *)(uintptr_t)job_id;
    shown.item = item;
    shown.elements = elements;
    shown.n_elements = n;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_ELEMENTS_SHOWN;
    message.elements_shown = &shown;
    peers_say(worker, &message.base);
}

static bool is_asked(const struct cw_stream *worker)
{
    return peers_to_worker(worker, CACHEW__V1__WORKER_COMMAND__KIND_SHOW_ELEMENTS) != NULL;
}

static void nothing_is_shown_unless_it_is_allowed(void **state)
{
    (void)state;
    struct cw_job *job = peers_running(name, NULL);
    struct cw_stream *worker = peers_worker_of(1)->stream;
    assert_false(look()->allowed);
    assert_false(is_asked(worker));
    show(worker, job->id, 3, 1);
    assert_null(job->elements_shown);
}

static void the_latest_are_shown(void **state)
{
    (void)state;
    struct cw_job *job = peers_running(name, NULL);
    struct cw_stream *worker = peers_worker_of(1)->stream;
    made_up.options.show_elements = true;
    show(worker, job->id, 3, 1); /* nobody looks */
    assert_null(job->elements_shown);
    const Cachew__V1__ShowElementsReply *reply = look();
    assert_true(reply->allowed);
    assert_null(reply->shown);
    assert_true(is_asked(worker));
    peers_forget(worker);
    assert_null(look()->shown); /* so soon nobody is asked again */
    assert_false(is_asked(worker));
    show(worker, job->id, 3, 2);
    assert_int_equal(look()->shown->item, 3);
    assert_int_equal(look()->shown->n_elements, 2);
    show(worker, job->id, 4, CW_SHOWN_ELEMENTS_MAX + 1);
    show(worker, "nothing", 5, 1);
    assert_int_equal(look()->shown->item, 3);
    struct cw_stream *stranger = peers_worker(2, 1); /* it has nothing of the job yet */
    assert_null(cw_share_find(job, peers_worker_of(2)));
    show(stranger, job->id, 6, 1);
    assert_int_equal(look()->shown->item, 3);
    cw_job_elements_tick(job, cw_clock_ms() + 60000);
    assert_null(job->elements_shown);
}

static void others_see_nothing(void **state)
{
    Cachew__V1__ShowElementsRequest request = CACHEW__V1__SHOW_ELEMENTS_REQUEST__INIT;
    (void)state;
    (void)peers_running(name, NULL);
    made_up.options.show_elements = true;
    request.job = name;
    peers_caller = &other;
    peers_refused("ShowElements", &request.base, CW_E_NOT_FOUND, "there is no job");
    peers_caller = NULL;
    assert_false(is_asked(peers_worker_of(1)->stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_shown_unless_it_is_allowed, peers_begin,
                                        peers_end),
        cmocka_unit_test_setup_teardown(the_latest_are_shown, peers_begin, peers_end),
        cmocka_unit_test_setup_teardown(others_see_nothing, peers_begin, peers_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
