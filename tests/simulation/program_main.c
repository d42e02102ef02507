/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of an actor whose program has a main(). */
#include "program.h"
#include "system.h"

#ifdef SIM_HAS_SQLITE
#include <sqlite3.h>
#endif

int sim_program_main(int argc, char **argv);
__attribute__((visibility("default"))) void sim_program_entry(void *arg);

void sim_program_entry(void *arg)
{
    const struct sim_args *args = arg;

    sim_system_init();
#ifdef SIM_HAS_SQLITE
    /* Fibres are one thread: its mutexes would never be waited for. */
    if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK)
        sim_fail("SQLite is in use already");
#endif
    int status = sim_program_main(args->argc, args->argv);
    if (status != 0)
        sim_exit(status);
}
