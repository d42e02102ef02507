/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the faults that a failure needs: runs the world again without some of them, as long as it
 * still fails. Each run is a process of its own. */
#include "shrink.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct sim_shrinking {
    sim_shrink_run *run;
    void *arg;
    struct sim_schedule *schedule; /* shared with the processes */
    uint64_t runs;
};

static void be_quiet(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || dup2(fd, STDERR_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0)
        _Exit(2);
}

/* Whether the world fails with the schedule as it is. */
static bool fails(struct sim_shrinking *s, bool is_quiet)
{
    int status;

    fflush(NULL);
    s->runs++;
    pid_t pid = fork();
    if (pid == 0) {
        if (is_quiet)
            be_quiet();
        s->run(s->arg, s->schedule);
        _Exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("simulation: a run of the world");
        exit(2);
    }
    return status != 0;
}

static size_t left(const struct sim_schedule *schedule)
{
    size_t n = 0;

    for (size_t i = 0; i < schedule->n; i++)
        n += !schedule->at[i].is_left_out;
    return n;
}

/* The places of the faults that are left, `n` of them from the `from`-th on. */
static size_t pick(const struct sim_schedule *schedule, size_t from, size_t n, size_t *ret)
{
    size_t picked = 0, at = 0;

    for (size_t i = 0; i < schedule->n && picked < n; i++)
        if (!schedule->at[i].is_left_out && at++ >= from)
            ret[picked++] = i;
    return picked;
}

/* Leaves out pieces of that size; false: each of them is needed. */
static bool leave_out(struct sim_shrinking *s, size_t size)
{
    static size_t places[SIM_FAULTS_MAX];
    bool any = false;

    for (size_t from = 0; from < left(s->schedule);) {
        size_t n = pick(s->schedule, from, size, places);
        for (size_t i = 0; i < n; i++)
            s->schedule->at[places[i]].is_left_out = true;
        if (fails(s, true)) {
            any = true;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            s->schedule->at[places[i]].is_left_out = false;
        from += n;
    }
    return any;
}

static void print(const struct sim_schedule *schedule)
{
    for (size_t i = 0; i < schedule->n; i++) {
        const struct sim_fault *fault = &schedule->at[i];
        if (fault->is_left_out)
            continue;
        printf("fault %zu: at %.9f %s of seat %d", i, (double)fault->at_ns / 1e9,
               sim_fault_name(fault->kind), fault->seat);
        if (fault->kind >= SIM_FAULT_PART && fault->kind <= SIM_FAULT_CUT_ANY)
            printf(" and %d", fault->other);
        printf(", for %.9f s\n", (double)fault->pause_ns / 1e9);
    }
}

bool sim_shrink(sim_shrink_run *run, void *arg)
{
    struct sim_shrinking s = {.run = run, .arg = arg};

    s.schedule =
        mmap(NULL, sizeof(*s.schedule), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.schedule == MAP_FAILED) {
        perror("simulation: the schedule");
        exit(2);
    }
    if (!fails(&s, true))
        return false;
    s.schedule->is_replayed = true;
    if (!fails(&s, true)) {
        fprintf(stderr, "simulation: it does not fail when its faults are repeated\n");
        exit(2);
    }
    for (size_t size = s.schedule->n / 2; size > 1; size /= 2)
        (void)leave_out(&s, size);
    while (leave_out(&s, 1))
        continue;
    (void)fails(&s, false);
    print(s.schedule);
    printf("shrunk: %zu of %zu faults are left, after %" PRIu64 " runs\n", left(s.schedule),
           s.schedule->n, s.runs);
    return true;
}
