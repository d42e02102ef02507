/* SPDX-License-Identifier: Apache-2.0 */
/* Fault points: kills the process at the point that the environment names. Only in builds with
 * CW_FAULTS. */
#include "base/fault.h"

#ifdef CW_FAULTS

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/thread.h"

#define NAME_BYTES 64
#define STOP "stop@"

atomic_int cw_fault_state = -1;
static struct cw_mutex lock = CW_MUTEX_INIT;
static char armed_name[NAME_BYTES]; /* guarded by lock; constant once the fault point is armed */
static bool stops;                  /* with the name; the process is stopped, not killed */
static atomic_llong left;

static void read_environment(void)
{
    const char *text = getenv("CACHEW_FAULT");
    const char *colon = text ? strrchr(text, ':') : NULL;
    int64_t nth = 0;

    stops = text && cw_str_starts(text, STOP);
    text += stops ? strlen(STOP) : 0;
    if (colon && (size_t)(colon - text) < NAME_BYTES && cw_str_to_i64(colon + 1, &nth) && nth > 0) {
        memcpy(armed_name, text, (size_t)(colon - text));
        armed_name[colon - text] = '\0';
        atomic_store(&left, nth);
        atomic_store_explicit(&cw_fault_state, 1, memory_order_release);
        return;
    }
    if (text && *text)
        fprintf(stderr, "level=error mod=fault msg=\"CACHEW_FAULT is not [stop@]NAME:N\"\n");
    atomic_store_explicit(&cw_fault_state, 0, memory_order_release);
}

void cw_fault_pass(const char *name)
{
    cw_mutex_lock(&lock);
    if (atomic_load(&cw_fault_state) < 0)
        read_environment();
    int state = atomic_load(&cw_fault_state);
    cw_mutex_unlock(&lock);
    if (state != 1 || (strcmp(armed_name, "any") != 0 && strcmp(armed_name, name) != 0))
        return;
    if (atomic_fetch_sub(&left, 1) != 1)
        return;
    if (stops)
        (void)raise(SIGSTOP); /* to this thread, which would go on for a while otherwise */
    else
        kill(getpid(), SIGKILL);
}

bool cw_fault_ask(const char *name)
{
    (void)name;
    return false;
}

#else
typedef int cw_fault_unused; /* ISO C requires at least one declaration in a file */
#endif
