/* SPDX-License-Identifier: Apache-2.0 */
#include "client/embedded/embedded_cluster.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/cpulimit.h"
#include "base/hostload.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/model/cancel.h"
#include "client/model/public.h"
#include "loop/child.h"

#define PATH_BYTES 4096
/* The longest path of a socket; the system's limit (sun_path) is 108. */
#define SOCKET_PATH_MAX 100
#define WORKERS_MAX 64
#define STOP_MS 5000
/* A daemon that dies is restarted no sooner than this after its last start. */
#define RESTART_MS 1000
#define FLUSH_MS 15000 /* The time that workers get to write what waits for the store. */
#define PLUGINS_MAX 16
#define ARGS_MAX (16 + 2 * PLUGINS_MAX)

struct daemon {
    struct cw_child child;
    const char *program;
    char name[32]; /* The name of the daemon's log file, without ".log". */
    char *args[ARGS_MAX];
    int64_t started_ms;
};
struct cw_embedded_cluster {
    char *dir;              /* The directory has mode 0700 and is removed at the end. */
    int lock_fd;            /* The lock is held as long as this process lives. */
    char *address;          /* The address of the dispatcher. */
    struct daemon *daemons; /* The processes. The first one is the dispatcher. */
    size_t daemons_n;
    bool caching;
    char *plugins[PLUGINS_MAX]; /* files that workers load */
    size_t plugins_n;
    /* The deadline is used only while the daemons start. */
    int64_t deadline_ms;
    const struct cachew_cancel *cancel;
};

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

static void remove_dir(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Removes a directory that a killed process has left behind, so that nobody holds its lock. */
static void remove_if_left(const char *base, const char *name)
{
    struct stat info;
    cw_autofree char *dir = cw_mem_printf("%s/%s", base, name);
    cw_autofree char *lock = cw_mem_printf("%s/lock", dir);
    if (lstat(dir, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid())
        return;
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_dir(dir);
    close(fd);
}

static void remove_left(const char *base)
{
    DIR *list = opendir(base);
    for (struct dirent *entry; list && (entry = readdir(list)) != NULL;)
        if (strncmp(entry->d_name, "cachew-", 7) == 0 && strlen(entry->d_name) == 13)
            remove_if_left(base, entry->d_name);
    if (list)
        closedir(list);
}

/* The lock file gets its name only once it is locked. So no other process takes the directory for
 * one that was left behind. */
static int take_lock(struct cw_embedded_cluster *cluster, struct cw_err *err)
{
    cw_autofree char *fresh = cw_mem_printf("%s/lock.new", cluster->dir);
    cw_autofree char *lock = cw_mem_printf("%s/lock", cluster->dir);
    cluster->lock_fd = open(fresh, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (cluster->lock_fd < 0 || flock(cluster->lock_fd, LOCK_EX | LOCK_NB) != 0 ||
        rename(fresh, lock) != 0)
        return cw_err_errno(err, errno, "local: cannot lock %s", fresh);
    return 0;
}

static int make_dir(struct cw_embedded_cluster *cluster, struct cw_err *err)
{
    const char *base = getenv("TMPDIR");
    /* The path of a socket in the directory would be too long. */
    if (!base || !*base || strlen(base) > SOCKET_PATH_MAX - 40)
        base = "/tmp";
    remove_left(base);
    char *dir = cw_mem_printf("%s/cachew-XXXXXX", base);
    if (!mkdtemp(dir)) {
        int rc = cw_err_errno(err, errno, "local: cannot make a directory %s", dir);
        cw_mem_free(dir);
        return rc;
    }
    cluster->dir = dir;
    return take_lock(cluster, err);
}

/* Reads the last line of a log, for the message that says why a child did not start. */
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

static int spawn(struct cw_embedded_cluster *cluster, struct daemon *daemon, struct cw_err *err)
{
    char path[PATH_BYTES];
    const char *argv[ARGS_MAX + 2] = {path};
    cw_autofree char *log = cw_mem_printf("%s/%s.log", cluster->dir, daemon->name);
    int rc = cw_child_find(daemon->program, path, sizeof(path), err);
    for (size_t i = 0; i < ARGS_MAX && daemon->args[i]; i++)
        argv[i + 1] = daemon->args[i];
    daemon->started_ms = cw_clock_ms();
    return rc == 0 ? cw_child_start(&daemon->child, argv, log, 0, err) : rc;
}

/* Waits until the daemon prints "ready ADDRESS". */
static int wait_ready(struct cw_embedded_cluster *cluster, struct daemon *daemon,
                      struct cw_err *err)
{
    char line[512];
    while (!cw_child_has_output(&daemon->child, CW_CANCEL_LOOK_MS)) {
        if (cw_cancel_is_set(cluster->cancel))
            return cw_err_set(err, CW_E_CANCELLED, "local: the start of %s was cancelled",
                              daemon->program);
        if (cw_clock_ms() >= cluster->deadline_ms)
            return cw_err_set(err, CW_E_TIMEOUT, "it was not ready in time");
    }
    int rc = cw_child_read_line(&daemon->child,
                                CW_MAX(cluster->deadline_ms - cw_clock_ms(), CW_CANCEL_LOOK_MS),
                                line, sizeof(line), err);
    if (rc == 0 && !cw_str_starts(line, "ready "))
        rc = cw_err_set(err, CW_E_INTERNAL, "it said \"%s\" instead of being ready", line);
    return rc;
}

static int start(struct cw_embedded_cluster *cluster, struct daemon *daemon, struct cw_err *err)
{
    char last[512];
    int rc = spawn(cluster, daemon, err);
    if (rc != 0)
        return rc;
    rc = wait_ready(cluster, daemon, err);
    if (rc == 0 || rc == CW_E_CANCELLED)
        return rc;
    cw_autofree char *log = cw_mem_printf("%s/%s.log", cluster->dir, daemon->name);
    last_line(log, last, sizeof(last));
    return cw_err_set(err, CW_E_UNAVAILABLE, "local: %s did not start: %s", daemon->program,
                      last[0]              ? last
                      : rc == CW_E_TIMEOUT ? "it was not ready within timeout_ms"
                                           : "it wrote nothing");
}

static void add_args(struct daemon *daemon, const char *const *args)
{
    for (size_t i = 0; args[i]; i++) {
        CW_ASSERT(i < ARGS_MAX);
        daemon->args[i] = cw_mem_strdup(args[i]);
    }
}

static int describe_dispatcher(struct cw_embedded_cluster *cluster,
                               const struct cachew_connect_options *options, struct cw_err *err)
{
    struct daemon *daemon = &cluster->daemons[0];
    cw_autofree char *state = options->state_dir ? cw_mem_strdup(options->state_dir)
                                                 : cw_mem_printf("%s/state", cluster->dir);
    cw_autofree char *quota = cw_mem_printf("%llu", (unsigned long long)options->cache_quota);
    const char *args[ARGS_MAX + 1] = {"--listen", cluster->address, "--state-dir", state,
                                      "--exit-with-stdin"};
    size_t n = 5;
    if (options->cache_store) {
        args[n++] = "--cache-store";
        args[n++] = options->cache_store;
    }
    if (options->cache_store && options->cache_quota) {
        args[n++] = "--cache-quota";
        args[n++] = quota;
    }
    cluster->caching = options->cache_store != NULL;
    daemon->program = "cachew-dispatcher";
    snprintf(daemon->name, sizeof(daemon->name), "dispatcher");
    add_args(daemon, args);
    if (!options->state_dir && mkdir(state, 0700) != 0)
        return cw_err_errno(err, errno, "local: cannot make %s", state);
    return 0;
}

static void describe_worker(struct cw_embedded_cluster *cluster, size_t i, int threads,
                            const struct cachew_connect_options *options)
{
    struct daemon *daemon = &cluster->daemons[i];
    bool told = getenv("CACHEW_WORKER_BUDGET") != NULL;
    char count[16], budget[32];
    daemon->program = "cachew-worker";
    snprintf(count, sizeof(count), "%d", threads);
    snprintf(budget, sizeof(budget), "%llu",
             (unsigned long long)cw_host_budget(cluster->daemons_n - 1));
    snprintf(daemon->name, sizeof(daemon->name), "worker-%zu", i - 1);
    cw_autofree char *listen = cw_mem_printf("unix:%s/%s.sock", cluster->dir, daemon->name);
    const char *args[ARGS_MAX + 1] = {
        "--dispatcher", cluster->address,   "--listen", listen, "--threads",
        count,          "--exit-with-stdin"};
    size_t n = 7;
    if (!told) {
        args[n++] = "--budget";
        args[n++] = budget;
    }
    if (options->python) { /* the functions are those of this user, who may do what they may */
        args[n++] = "--allow-python";
        args[n++] = "--python-sandbox=auto";
        args[n++] = "--python";
        args[n++] = options->python;
    }
    for (size_t k = 0; k < cluster->plugins_n; k++) {
        args[n++] = "--plugin";
        args[n++] = cluster->plugins[k];
    }
    add_args(daemon, args);
}

/* Cuts the list at its colons. */
static int cut_plugins(struct cw_embedded_cluster *cluster, const char *list, struct cw_err *err)
{
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n > 0 && cluster->plugins_n == CW_ARRAY_LEN(cluster->plugins))
            return cw_err_set(err, CW_E_LIMIT, "connect option plugins: more than %zu files",
                              CW_ARRAY_LEN(cluster->plugins));
        if (n > 0)
            cluster->plugins[cluster->plugins_n++] = cw_mem_printf("%.*s", (int)n, list);
        list += n + (list[n] == ':');
    }
    return 0;
}

void cw_embedded_cluster_watch(struct cw_embedded_cluster *cluster)
{
    struct cw_err err = {0};
    for (size_t i = 0; i < cluster->daemons_n; i++) {
        struct daemon *daemon = &cluster->daemons[i];
        if (cw_clock_ms() - daemon->started_ms < RESTART_MS ||
            (daemon->child.pid && cw_child_is_alive(&daemon->child)))
            continue;
        /* The child is dead already; this closes its pipes. */
        (void)cw_child_stop(&daemon->child, STOP_MS);
        if (spawn(cluster, daemon, &err) != 0)
            cw_log_debug("client", "%s cannot be started again: %s", daemon->program, err.msg);
    }
}

static int start_all(struct cw_embedded_cluster *cluster,
                     const struct cachew_connect_options *options, struct cw_err *err)
{
    int threads = options->local_threads > 0 ? options->local_threads : (int)cw_cpulimit();
    int rc = make_dir(cluster, err);
    if (rc != 0)
        return rc;
    cluster->address = cw_mem_printf("unix:%s/dispatcher.sock", cluster->dir);
    rc = cut_plugins(cluster, options->plugins, err);
    if (rc == 0)
        rc = describe_dispatcher(cluster, options, err);
    for (size_t i = 1; i < cluster->daemons_n; i++)
        describe_worker(cluster, i, threads, options);
    for (size_t i = 0; rc == 0 && i < cluster->daemons_n; i++)
        rc = start(cluster, &cluster->daemons[i], err);
    return rc;
}

int cw_embedded_cluster_start(const struct cachew_connect_options *options, int64_t deadline_ms,
                              struct cw_embedded_cluster **ret_cluster, struct cw_err *err)
{
    size_t workers = options->local_workers > 0 ? (size_t)options->local_workers : 1;
    if (workers > WORKERS_MAX)
        return cw_err_set(err, CW_E_INVALID, "connect option local_workers: %d is over %d",
                          options->local_workers, WORKERS_MAX);
    struct cw_embedded_cluster *cluster = CW_NEW(struct cw_embedded_cluster);
    cluster->lock_fd = -1;
    cluster->deadline_ms = deadline_ms;
    cluster->cancel = options->cancel;
    cluster->daemons_n = workers + 1;
    cluster->daemons = CW_NEW_ARRAY(struct daemon, cluster->daemons_n);
    int rc = start_all(cluster, options, err);
    if (rc != 0)
        cw_embedded_cluster_stop(cluster);
    else
        *ret_cluster = cluster;
    return rc;
}

const char *cw_embedded_cluster_address(const struct cw_embedded_cluster *cluster)
{
    return cluster->address;
}

void cw_embedded_cluster_stop(struct cw_embedded_cluster *cluster)
{
    if (!cluster)
        return;
    /* Workers are not drained, since nobody is left to receive their outputs. Those that have a
     * cache write what waits for it, and report that to the dispatcher, before they end. */
    for (size_t i = 1; cluster->caching && i < cluster->daemons_n; i++)
        (void)cw_child_stop(&cluster->daemons[i].child, FLUSH_MS);
    /* All children get their signal before any is waited for. */
    for (size_t i = 0; i < cluster->daemons_n; i++)
        if (cluster->daemons[i].child.pid)
            cw_child_kill(&cluster->daemons[i].child, i == 0 ? SIGTERM : SIGKILL);
    for (size_t i = cluster->daemons_n; i-- > 0;) {
        if (cluster->daemons[i].child.pid)
            (void)cw_child_stop(&cluster->daemons[i].child, STOP_MS);
        for (size_t k = 0; k < ARGS_MAX; k++)
            cw_mem_free(cluster->daemons[i].args[k]);
    }
    if (cluster->dir)
        remove_dir(cluster->dir);
    if (cluster->lock_fd >= 0)
        close(cluster->lock_fd);
    for (size_t i = 0; i < cluster->plugins_n; i++)
        cw_mem_free(cluster->plugins[i]);
    cw_mem_free(cluster->daemons);
    cw_mem_free(cluster->address);
    cw_mem_free(cluster->dir);
    cw_mem_free(cluster);
}
