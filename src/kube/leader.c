/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/leader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#define LOG "lease"
#define NAME_MAX_BYTES 253 /* of a name of Kubernetes */
#define LOG_EVERY_MS 60000 /* of failures that go on */

struct cw_leader {
    struct cw_kube_lease *lease;
    struct cw_leader_options options;
    char *name; /* for the log */
    uint64_t failures;
    int64_t logged_ms; /* when a failure was logged; 0: none since the last success */
};

static bool is_name(const char *name, size_t n)
{
    if (n == 0 || n > NAME_MAX_BYTES || name[0] == '-' || name[n - 1] == '-')
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", name[i]))
            return false;
    return true;
}

int cw_leader_name_check(const char *lease, struct cw_err *err)
{
    const char *slash = strchr(lease, '/'), *name = slash ? slash + 1 : lease;

    if ((slash && !is_name(lease, (size_t)(slash - lease))) || !is_name(name, strlen(name)))
        return cw_err_set(err, CW_E_INVALID,
                          "\"%s\" is not [NAMESPACE/]NAME of lower-case letters, digits, \"-\" and "
                          "\".\"",
                          lease);
    return CW_OK;
}

static void on_taken(void *arg)
{
    struct cw_leader *leader = arg;

    leader->logged_ms = 0;
    cw_log_info(LOG, "the lease %s is ours", leader->name);
    leader->options.taken(leader->options.arg);
}

static void on_lost(void *arg, const struct cw_err *why)
{
    struct cw_leader *leader = arg;

    leader->options.lost(leader->options.arg, why);
}

static void on_held(void *arg, const char *holder)
{
    struct cw_leader *leader = arg;

    leader->logged_ms = 0;
    if (*holder)
        cw_log_info(LOG, "standing by: %s holds the lease %s", holder, leader->name);
    else
        cw_log_info(LOG, "nobody holds the lease %s", leader->name);
}

/* A failure is told at once, and while it goes on once a minute. */
static void on_failed(void *arg, const struct cw_err *err)
{
    struct cw_leader *leader = arg;
    const int64_t now_ms = cw_clock_ms();

    leader->failures++;
    if (leader->logged_ms != 0 && now_ms - leader->logged_ms < LOG_EVERY_MS)
        return;
    leader->logged_ms = now_ms;
    cw_log_warn(LOG, "the lease %s cannot be read or renewed, it is tried again: %s", leader->name,
                err->msg);
}

static char *new_identity(void)
{
    const char *pod = getenv("CACHEW_POD_NAME");
    char host[128] = "";

    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    return cw_mem_printf("%.200s_%016llx", pod && *pod ? pod : host,
                         (unsigned long long)cw_rng_process_id());
}

int cw_leader_new(struct cw_kube *kube, const struct cw_leader_options *options,
                  struct cw_leader **ret_leader, struct cw_err *err)
{
    const char *slash = strchr(options->lease, '/');
    cw_autofree char *name_space =
        slash ? cw_mem_strndup(options->lease, (size_t)(slash - options->lease)) : NULL;
    cw_autofree char *identity = new_identity();
    struct cw_leader *leader = CW_NEW(struct cw_leader);
    const struct cw_kube_lease_options lease = {
        .name_space = name_space,
        .name = slash ? slash + 1 : options->lease,
        .identity = identity,
        .duration_ms = options->duration_ms,
        .renew_ms = options->renew_ms,
        .give_up_ms = options->give_up_ms,
    };
    const struct cw_kube_lease_events events = {on_taken, on_lost, on_held, on_failed, leader};

    leader->options = *options;
    leader->name =
        cw_mem_printf("%s/%s", name_space ? name_space : cw_kube_namespace(kube), lease.name);
    int rc = cw_kube_lease_new(kube, &lease, &events, &leader->lease, err);
    if (rc != CW_OK) {
        cw_leader_free(leader);
        return rc;
    }
    cw_log_info(LOG, "%s wants the lease %s", identity, leader->name);
    *ret_leader = leader;
    return CW_OK;
}

void cw_leader_free(struct cw_leader *leader)
{
    if (!leader)
        return;
    cw_kube_lease_free(leader->lease);
    cw_mem_free(leader->name);
    cw_mem_free(leader);
}

bool cw_leader_holds(const struct cw_leader *leader)
{
    return !leader || cw_kube_lease_holds(leader->lease);
}

void cw_leader_release(struct cw_leader *leader, cw_loop_fn *done, void *arg)
{
    cw_kube_lease_release(leader->lease, done, arg);
}

uint64_t cw_leader_failures(const struct cw_leader *leader)
{
    return leader ? leader->failures : 0;
}
