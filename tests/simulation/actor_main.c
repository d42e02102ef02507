/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program whose main was renamed as the one actor of a world: for each of the first N
 * seeds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim.h"

#define DAY_NS INT64_C(86400000000000)

int sim_program_main(void);

/* Its signals to itself. */
__attribute__((visibility("default"))) int kill(pid_t pid, int signum)
{
    (void)pid;
    sim_signal(sim_self(), signum);
    return 0;
}

static int status = -1;
static void run(void *arg)
{
    (void)arg;
    status = sim_program_main();
}

static int in_world(uint64_t seed)
{
    struct sim_config config = {.seed = seed};

    sim_world_begin(&config);
    sim_spawn("host", "test", run, NULL);
    if (sim_world_run(NULL, NULL, DAY_NS) != SIM_END_IDLE)
        sim_fail("it has not ended after a day");
    sim_world_end();
    fflush(stdout);
    return status;
}

/* A process for each seed: the test's libraries have static state that outlives the actor. */
int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;

    for (uint64_t seed = 1; seed <= n; seed++) {
        int ended;
        pid_t pid = fork();
        if (pid == 0)
            _Exit(in_world(seed));
        if (pid < 0 || waitpid(pid, &ended, 0) != pid || ended != 0) {
            fprintf(stderr, "seed %llu failed\n", (unsigned long long)seed);
            return 1;
        }
    }
    return 0;
}
