/* SPDX-License-Identifier: Apache-2.0 */
#include "client/local.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/str.h"
#include "client/public.h"
#include "loop/child.h"

#define PATH_BYTES 4096
#define SOCKET_PATH_MAX 100 /* sun_path has 108 */
#define WORKERS_MAX 64
#define READY_MS 30000
#define STOP_MS 5000

struct cw_local {
    char *dir;     /* mode 0700, removed at the end */
    char *address; /* of the dispatcher */
    struct cw_child dispatcher;
    struct cw_child *workers;
    size_t workers_n;
};

static int make_dir(struct cw_local *local, struct cw_err *err)
{
    const char *base = getenv("TMPDIR");
    char *dir = cw_mem_printf("%s/cachew-XXXXXX", base && *base ? base : "/tmp");
    if (strlen(dir) > SOCKET_PATH_MAX - 20) { /* no room for a socket's name */
        cw_mem_free(dir);
        dir = cw_mem_strdup("/tmp/cachew-XXXXXX");
    }
    if (!mkdtemp(dir)) {
        int rc = cw_err_errno(err, errno, "local: cannot make a directory %s", dir);
        cw_mem_free(dir);
        return rc;
    }
    local->dir = dir;
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

/* What a child last wrote to its log, to say why it did not start. */
static void last_line(const char *path, char *ret_line, size_t cap)
{
    FILE *file = fopen(path, "re");
    ret_line[0] = 0;
    char line[512];
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0])
            snprintf(ret_line, cap, "%s", line);
    }
    if (file)
        fclose(file);
}

/* Starts one program and waits for its line `ready ADDRESS`. */
static int start(struct cw_local *local, const char *program, const char *log_name, const char *const *args, struct cw_child *child,
                 struct cw_err *err)
{
    char path[PATH_BYTES], line[512], last[512];
    const char *argv[16] = {path};
    CW_STR_AUTO log = {0};
    int rc = cw_child_find(program, path, sizeof(path), err);
    if (rc != 0)
        return rc;
    for (size_t i = 0; args[i] && i + 2 < CW_ARRAY_LEN(argv); i++)
        argv[i + 1] = args[i];
    cw_str_addf(&log, "%s/%s.log", local->dir, log_name);
    rc = cw_child_start(child, argv, log.s, 0, err);
    if (rc != 0)
        return rc;
    rc = cw_child_read_line(child, READY_MS, line, sizeof(line), err);
    if (rc == 0 && !cw_str_starts(line, "ready "))
        rc = cw_err_set(err, CW_E_INTERNAL, "it said \"%s\" instead of being ready", line);
    if (rc == 0)
        return 0;
    last_line(log.s, last, sizeof(last));
    return cw_err_set(err, CW_E_UNAVAILABLE, "local: %s did not start: %s", path, last[0] ? last : "it wrote nothing");
}

static int start_dispatcher(struct cw_local *local, const struct cachew_connect_options *options, struct cw_err *err)
{
    cw_autofree char *state = options->state_dir ? cw_mem_strdup(options->state_dir) : cw_mem_printf("%s/state", local->dir);
    const char *const args[] = {"--listen", local->address, "--state-dir", state, "--exit-with-stdin", NULL};
    if (!options->state_dir && mkdir(state, 0700) != 0)
        return cw_err_errno(err, errno, "local: cannot make %s", state);
    return start(local, "cachew-dispatcher", "dispatcher", args, &local->dispatcher, err);
}

static int start_worker(struct cw_local *local, size_t i, int threads, struct cw_err *err)
{
    char name[32], count[16];
    snprintf(name, sizeof(name), "worker-%zu", i);
    snprintf(count, sizeof(count), "%d", threads);
    cw_autofree char *listen = cw_mem_printf("unix:%s/%s.sock", local->dir, name);
    const char *const args[] = {"--dispatcher", local->address, "--listen", listen, "--threads", count, "--exit-with-stdin", NULL};
    return start(local, "cachew-worker", name, args, &local->workers[i], err);
}

static int start_all(struct cw_local *local, const struct cachew_connect_options *options, struct cw_err *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = options->local_threads > 0 ? options->local_threads : (int)CW_MAX(cpus, 1);
    int rc = make_dir(local, err);
    if (rc != 0)
        return rc;
    local->address = cw_mem_printf("unix:%s/dispatcher.sock", local->dir);
    rc = start_dispatcher(local, options, err);
    for (size_t i = 0; rc == 0 && i < local->workers_n; i++)
        rc = start_worker(local, i, threads, err);
    return rc;
}

int cw_local_start(const struct cachew_connect_options *options, struct cw_local **ret_local, struct cw_err *err)
{
    struct cw_local *local = CW_NEW(struct cw_local);
    local->workers_n = options->local_workers > 0 ? (size_t)options->local_workers : 1;
    if (local->workers_n > WORKERS_MAX) {
        cw_mem_free(local);
        return cw_err_set(err, CW_E_INVALID, "connect option local_workers: %d is over %d", options->local_workers, WORKERS_MAX);
    }
    local->workers = CW_NEW_ARRAY(struct cw_child, local->workers_n);
    int rc = start_all(local, options, err);
    if (rc != 0)
        cw_local_stop(local);
    else
        *ret_local = local;
    return rc;
}

const char *cw_local_address(const struct cw_local *local)
{
    return local->address;
}

void cw_local_stop(struct cw_local *local)
{
    if (!local)
        return;
    /* No draining: nobody is left to receive. All are told first, then waited for. */
    for (size_t i = 0; i < local->workers_n; i++)
        if (local->workers[i].pid)
            cw_child_kill(&local->workers[i], SIGKILL);
    if (local->dispatcher.pid)
        cw_child_kill(&local->dispatcher, SIGTERM);
    for (size_t i = 0; i < local->workers_n; i++)
        if (local->workers[i].pid)
            (void)cw_child_stop(&local->workers[i], STOP_MS);
    if (local->dispatcher.pid)
        (void)cw_child_stop(&local->dispatcher, STOP_MS);
    if (local->dir)
        (void)nftw(local->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    cw_mem_free(local->workers);
    cw_mem_free(local->address);
    cw_mem_free(local->dir);
    cw_mem_free(local);
}
