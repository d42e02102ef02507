/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libgfapi, keeps the connections to volumes, and copies libgfapi's log to ours. */
#include "io/gluster/gluster_connection.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"

#define LIBRARY "libgfapi.so.0"
#define LOG_WARNING 5 /* GF_LOG_WARNING of libglusterfs; more severe levels have lower numbers */

enum link_state { LINK_DOWN, LINK_TRYING, LINK_UP };
struct cw_gluster_connection {
    struct cw_gluster_connection *next;
    char *key;
    struct cw_gluster_address address;
    /* ---- guarded by lock ---- */
    enum link_state state;
    size_t users;
    int64_t idle_ns; /* since when there are none, while it is up */
    glfs_t *fs;      /* belongs to the thread that connects; constant once connected */
};

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed; /* used with lock: the state of some connection has changed */
static struct cw_gluster_connection *links; /* guarded by lock; they are never freed */
static struct cw_gluster_api api;           /* guarded by lock until it is loaded, then constant */
static bool is_loaded;                      /* guarded by lock */
static char log_path[40];                   /* guarded by lock; "": the log is not set up yet */
static struct cw_cond left; /* used with lock: a connection has lost its last user */
static bool has_closer;     /* guarded by lock: the thread that closes them runs */
static int64_t idle_limit_ns = CW_GLUSTER_IDLE_MS * 1000000; /* guarded by lock */

/* ---- libgfapi ---- */

static int load_function(void *library, const char *name, void *ret_function, struct cw_err *err)
{
    void *function = dlsym(library, name);

    if (!function)
        return cw_err_set(err, CW_E_STATE, "%s has no function %s: it is too old", LIBRARY, name);
    memcpy(ret_function, &function, sizeof(function));
    return 0;
}
static int load(struct cw_err *err)
{
    int rc = 0;

    if (is_loaded)
        return 0;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return cw_err_set(err, CW_E_STATE, "gluster:// needs the package libgfapi0: %s", dlerror());
#define CW_GLFS(name)                                                                              \
    if (rc == 0)                                                                                   \
        rc = load_function(library, "glfs_" #name, (void *)&api.name, err);
#include "io/gluster/gluster_call_list.h"
#undef CW_GLFS
    is_loaded = rc == 0;
    return rc;
}
const struct cw_gluster_api *cw_gluster_connection_api(void)
{
    return &api;
}

/* ---- libgfapi's log: it is written to a pipe, whose lines are copied to our log ---- */

/* Copies one line of libgfapi's log to ours, without the time: "[time] W [MSGID: 1]
 * [file.c:1:function] 0-vol-client-0: text". libgfapi does not respect the level that it was given:
 * it also writes information, and, line by line, the whole graph with the passwords of its
 * connections. Those lines are left out. */
static void log_line(const char *line)
{
    const char *text = line[0] == '[' ? strstr(line, "] ") : NULL;

    if (text && strchr("WECAM", text[2]) && text[2] && text[3] == ' ')
        cw_log_warn("gluster", "%s", text + 2);
}
static void log_thread(void *arg)
{
    FILE *in = arg;
    char line[2048];

    while (fgets(line, sizeof(line), in)) {
        line[strcspn(line, "\n")] = '\0';
        log_line(line);
    }
    fclose(in);
}
static void begin_log(void)
{
    static struct cw_thread thread; /* it runs until the process ends */
    int fds[2];

    if (log_path[0])
        return;
    snprintf(log_path, sizeof(log_path), "/dev/null");
    if (pipe2(fds, O_CLOEXEC) < 0)
        return;
    FILE *in = fdopen(fds[0], "r");
    if (!in) {
        close(fds[0]);
        close(fds[1]);
        return;
    }
    snprintf(log_path, sizeof(log_path), "/proc/self/fd/%d", fds[1]);
    cw_thread_start(&thread, "cachew-glog", log_thread, in);
}

/* ---- connections ---- */

struct cw_gluster_connection *cw_gluster_connection_get(const struct cw_gluster_address *address)
{
    CW_STR_AUTO key = {0};
    struct cw_gluster_connection *link;

    for (size_t i = 0; i < address->hosts_n; i++)
        cw_str_addf(&key, "%s:%d,", address->hosts[i].name, address->hosts[i].port);
    cw_str_addf(&key, "/%s", address->volume);
    cw_mutex_lock(&lock);
    if (!links) {
        cw_cond_init(&changed);
        cw_cond_init(&left);
    }
    for (link = links; link && !cw_str_eq(link->key, cw_str_text(&key)); link = link->next)
        ;
    if (!link) {
        link = CW_NEW(struct cw_gluster_connection);
        link->key = cw_str_take(&key);
        link->address = *address;
        link->next = links;
        links = link;
    }
    cw_mutex_unlock(&lock);
    return link;
}
static int make_fs(struct cw_gluster_connection *link, struct cw_err *err)
{
    const struct cw_gluster_address *address = &link->address;
    glfs_t *fs = api.new(address->volume);

    if (!fs)
        return cw_err_errno(err, errno, "gluster: volume %s", address->volume);
    for (size_t i = 0; i < address->hosts_n; i++)
        if (api.set_volfile_server(fs, "tcp", address->hosts[i].name, address->hosts[i].port) < 0)
            return cw_err_errno(err, errno, "gluster: host %s", address->hosts[i].name);
    (void)!api.set_logging(fs, log_path, LOG_WARNING);
    /* libgfapi's cache of attributes answers for a file that a rename has replaced, and the open of
     * that file then fails with ENOENT although the name exists. Every open is to ask the bricks. */
    if (api.set_xlator_option(fs, "*-md-cache", "md-cache-timeout", "0") < 0)
        return cw_err_errno(err, errno, "gluster: volume %s: no option of md-cache",
                            address->volume);
    link->fs = fs;
    return 0;
}
static int fail_to_connect(const struct cw_gluster_address *address, int sys_errno,
                           struct cw_err *err)
{
    char text[128];

    if (sys_errno == ENOENT)
        return cw_err_set(err, CW_E_NOT_FOUND,
                          "gluster: %s has no volume %s, or it was never started",
                          address->hosts[0].name, address->volume);
    return cw_err_set(
        err, CW_E_UNAVAILABLE,
        "gluster: cannot connect to volume %s by %s%s: %s (do glusterd and bricks run?)",
        address->volume, address->hosts[0].name, address->hosts_n > 1 ? " or the other hosts" : "",
        strerror_r(sys_errno, text, sizeof(text)));
}
/* Connects. Called without the lock, since it may take long. A handle that failed to connect can be
 * tried again. */
static int connect_link(struct cw_gluster_connection *link, struct cw_err *err)
{
    int rc = link->fs ? 0 : make_fs(link, err);

    if (rc < 0)
        return rc;
    errno = 0;
    if (api.init(link->fs) < 0)
        return fail_to_connect(&link->address, errno ? errno : EIO, err);
    return 0;
}

/* ---- connections that nobody uses ---- */

/* Takes the handle of a connection that has had no users for long enough. NULL: there is none; then
 * *ret_next_ns is when there may be one. Called with the lock. */
static glfs_t *take_idle(int64_t now_ns, int64_t *ret_next_ns)
{
    *ret_next_ns = INT64_MAX;
    for (struct cw_gluster_connection *link = links; link; link = link->next) {
        const int64_t end_ns = link->idle_ns + idle_limit_ns;
        if (link->state != LINK_UP || link->users > 0)
            continue;
        if (now_ns >= end_ns) {
            glfs_t *fs = link->fs;
            link->fs = NULL;
            link->state = LINK_DOWN;
            return fs;
        }
        *ret_next_ns = CW_MIN(*ret_next_ns, end_ns);
    }
    return NULL;
}
static void close_idle(void *arg)
{
    (void)arg;
    cw_mutex_lock(&lock);
    for (;;) {
        int64_t next_ns;
        glfs_t *fs = take_idle(cw_clock_ns(), &next_ns);
        if (fs) {
            cw_mutex_unlock(&lock);
            (void)api.fini(fs);
            cw_mutex_lock(&lock);
        } else if (next_ns == INT64_MAX) {
            cw_cond_wait(&left, &lock);
        } else {
            (void)cw_cond_wait_until(&left, &lock, next_ns);
        }
    }
}
void cw_gluster_connection_set_idle(int64_t ms)
{
    cw_mutex_lock(&lock);
    idle_limit_ns = ms * 1000000;
    if (has_closer)
        cw_cond_signal(&left);
    cw_mutex_unlock(&lock);
}
void cw_gluster_connection_leave(struct cw_gluster_connection *link)
{
    static struct cw_thread thread; /* it runs until the process ends */

    cw_mutex_lock(&lock);
    CW_ASSERT(link->users > 0);
    if (--link->users == 0) {
        link->idle_ns = cw_clock_ns();
        if (!has_closer)
            cw_thread_start(&thread, "cachew-gidle", close_idle, NULL);
        has_closer = true;
        cw_cond_signal(&left);
    }
    cw_mutex_unlock(&lock);
}

/* ---- using them ---- */

int cw_gluster_connection_use(struct cw_gluster_connection *link, int64_t wait_ns,
                              struct cw_err *err)
{
    int64_t deadline_ns = cw_clock_ns() + wait_ns;
    int rc = 0;

    cw_mutex_lock(&lock);
    while (link->state == LINK_TRYING && rc == 0)
        if (!cw_cond_wait_until(&changed, &lock, deadline_ns))
            rc = cw_err_set(err, CW_E_UNAVAILABLE, "gluster: volume %s: still waiting for %s",
                            link->address.volume, link->address.hosts[0].name);
    if (rc == 0 && link->state == LINK_DOWN)
        rc = load(err);
    if (rc == 0 && link->state == LINK_DOWN) {
        begin_log();
        link->state = LINK_TRYING;
        cw_mutex_unlock(&lock);
        rc = connect_link(link, err);
        cw_mutex_lock(&lock);
        link->state = rc == 0 ? LINK_UP : LINK_DOWN;
        cw_cond_broadcast(&changed);
    }
    link->users += rc == 0;
    cw_mutex_unlock(&lock);
    return rc;
}
glfs_t *cw_gluster_connection_fs(const struct cw_gluster_connection *link)
{
    return link->fs;
}
