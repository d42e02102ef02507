/* SPDX-License-Identifier: Apache-2.0 */
/* The roots of sources, and how files below them are opened. The table is filled while the program
 * starts and only read afterwards, by any thread. */
#include "io/source_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"
#include "io/source_url.h"

#define PATH_BYTES 4096
#define OPTION "--source-root"

struct root {
    char *path;      /* as the option says it: of a directory, or a URL */
    char *real;      /* where that is, without links */
    int fd;          /* of a directory */
    uint32_t reader; /* who alone may read there; 0: everybody */
};
static struct {
    struct root v[CW_SOURCE_ROOTS_MAX];
    size_t n;
    struct root urls[CW_SOURCE_ROOTS_MAX];
    size_t urls_n;
    char *tenants[CW_SOURCE_ROOTS_MAX]; /* that roots name; number i is reader i + 1 */
    size_t tenants_n;
    bool no_openat2; /* the kernel, or a filter of its calls, does not have it */
} roots;
static _Thread_local uint32_t reads_as;

static bool is_ours(const struct root *root)
{
    return root->reader == 0 || root->reader == reads_as;
}

static long open_below(int dir, const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* Skips slashes, and components that are ".". */
static const char *skip(const char *path)
{
    for (;;) {
        if (path[0] == '/')
            path++;
        else if (path[0] == '.' && (path[1] == '/' || path[1] == '\0'))
            path++;
        else
            return path;
    }
}

/* Takes the path below `above` apart: returns what is left of `path` when the components of `above`
 * are taken off its beginning; NULL if it does not begin with all of them. */
static const char *rest_below(const char *above, const char *path)
{
    if (path[0] != '/')
        return NULL;
    for (above = skip(above), path = skip(path); above[0]; above = skip(above), path = skip(path)) {
        size_t n = strcspn(above, "/");
        if (strcspn(path, "/") != n || memcmp(above, path, n) != 0)
            return NULL;
        above += n;
        path += n;
    }
    return path;
}

static const struct root *root_of(const char *path, const char **ret_rest)
{
    for (size_t i = 0; i < roots.n; i++) {
        *ret_rest = is_ours(&roots.v[i]) ? rest_below(roots.v[i].path, path) : NULL;
        if (*ret_rest)
            return &roots.v[i];
    }
    return NULL;
}

static int denied(const char *path, const char *what, struct cw_err *err)
{
    const char *first = NULL;
    size_t n = 0; /* others' roots are not told */
    for (size_t i = 0; i < roots.n + roots.urls_n; i++) {
        const struct root *root = i < roots.n ? &roots.v[i] : &roots.urls[i - roots.n];
        if (is_ours(root) && n++ == 0)
            first = root->path;
    }
    if (n == 0)
        return cw_err_set(err, CW_E_DENIED,
                          "%s: no " OPTION " lets pipelines of this tenant read anything", path);
    if (n == 1)
        return cw_err_set(err, CW_E_DENIED, "%s: %s what " OPTION " %s lets pipelines read", path,
                          what, first);
    return cw_err_set(err, CW_E_DENIED, "%s: %s what " OPTION " %s and %zu more let pipelines read",
                      path, what, first, n - 1);
}

static int failed(const char *path, int failure, struct cw_err *err)
{
    if (failure == ENXIO) /* a socket, or a device without a driver */
        return cw_err_set(err, CW_E_INVALID, "%s: is not a regular file", path);
    return cw_err_errno(err, failure, "%s", path);
}

/* Finds the path of an open descriptor, without links. */
static int real_path(int fd, char *ret_path, size_t cap)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, ret_path, cap - 1);
    if (n < 0)
        return errno;
    ret_path[n] = '\0';
    return (size_t)n < cap - 1 && ret_path[0] == '/' ? 0 : ENAMETOOLONG;
}

static bool is_real_below(const char *real)
{
    for (size_t i = 0; i < roots.n; i++)
        if (is_ours(&roots.v[i]) && rest_below(roots.v[i].real, real))
            return true;
    return false;
}

/* Opens what lies at the path now, without effects on it (O_PATH), looks where that is, and opens
 * that same file for reading. */
static int open_and_look(const char *path, int flags, int *ret_fd, struct cw_err *err)
{
    char real[PATH_BYTES], link[64];
    int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0)
        return failed(path, errno, err);
    int failure = real_path(at, real, sizeof(real));
    bool inside = failure == 0 && is_real_below(real);
    int fd = at;
    if (inside && !(flags & O_PATH)) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
        fd = open(link, flags);
        failure = fd < 0 ? errno : 0;
        close(at);
    } else if (!inside) {
        close(at);
    }
    if (failure)
        return failed(path, failure, err);
    if (!inside)
        return denied(path, "leads out of", err);
    *ret_fd = fd;
    return 0;
}

static int open_rooted(const char *path, int flags, int *ret_fd, struct cw_err *err)
{
    const char *rest = NULL;
    const struct root *root = root_of(path, &rest);
    if (!root)
        return denied(path, "is outside of", err);
    if (roots.no_openat2)
        return open_and_look(path, flags, ret_fd, err);
    long fd = open_below(root->fd, rest[0] ? rest : ".", flags);
    if (fd < 0 && (errno == EXDEV || errno == EAGAIN)) /* a link that leads out of this root */
        return open_and_look(path, flags, ret_fd, err);
    if (fd < 0)
        return failed(path, errno, err);
    *ret_fd = (int)fd;
    return 0;
}

static int open_at(const char *path, int flags, int *ret_fd, struct cw_err *err)
{
    if (cw_source_root_is_set())
        return open_rooted(path, flags | O_CLOEXEC, ret_fd, err);
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return failed(path, errno, err);
    *ret_fd = fd;
    return 0;
}

/* Files of /proc say what the process is, and not what somebody stored. Which file system a device
 * number stands for is asked once a thread, since over a network that is a call. */
static bool is_of_proc(int fd, const struct stat *st)
{
    static _Thread_local struct {
        bool known;
        dev_t dev;
    } stored;
    struct statfs fs;
    if (stored.known && stored.dev == st->st_dev)
        return false;
    if (fstatfs(fd, &fs) != 0)
        return false;
    if (fs.f_type == PROC_SUPER_MAGIC)
        return true;
    stored.known = true;
    stored.dev = st->st_dev;
    return false;
}

static int check_opened(const char *path, int fd, struct stat *ret_st, struct cw_err *err)
{
    if (fstat(fd, ret_st) < 0)
        return cw_err_errno(err, errno, "%s", path);
    if (!S_ISREG(ret_st->st_mode))
        return cw_err_set(err, CW_E_INVALID, "%s: is not a regular file", path);
    if (is_of_proc(fd, ret_st))
        return cw_err_set(err, CW_E_DENIED, "%s: is of /proc, which no pipeline may read", path);
    return 0;
}

int cw_source_open(const char *path, int *ret_fd, struct stat *ret_st, struct cw_err *err)
{
    int fd = -1;
    /* O_NONBLOCK has the effect that a FIFO is refused instead of waited for. */
    int rc = open_at(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, &fd, err);
    if (rc < 0)
        return rc;
    rc = check_opened(path, fd, ret_st, err);
    if (rc < 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

int cw_source_open_dir(const char *path, DIR **ret_dir, struct cw_err *err)
{
    int fd = -1;
    int rc = 0;
    if (cw_source_root_is_set())
        rc = open_at(path, O_RDONLY | O_DIRECTORY, &fd, err);
    if (rc < 0)
        return rc;
    DIR *dir = fd >= 0 ? fdopendir(fd) : opendir(path);
    if (!dir) {
        rc = failed(path, errno, err);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *ret_dir = dir;
    return 0;
}

static bool is_above_a_root(const char *path)
{
    for (size_t i = 0; i < roots.n; i++)
        if (path[0] == '/' && is_ours(&roots.v[i]) && rest_below(path, roots.v[i].path))
            return true;
    return false;
}

int cw_source_stat(const char *path, struct stat *ret_st, struct cw_err *err)
{
    int fd = -1;
    if (!cw_source_root_is_set())
        return stat(path, ret_st) < 0 ? failed(path, errno, err) : 0;
    if (is_above_a_root(path))
        return stat(path, ret_st) < 0 ? failed(path, errno, err) : 0;
    int rc = open_at(path, O_PATH, &fd, err);
    if (rc < 0)
        return rc;
    rc = fstat(fd, ret_st) < 0 ? failed(path, errno, err) : 0;
    close(fd);
    return rc;
}

/* ---- URLs ---- */

static bool is_url_below(const char *above, const char *url)
{
    size_t n = strlen(above);
    return strncmp(url, above, n) == 0 && (above[n - 1] == '/' || url[n] == '/' || url[n] == '\0');
}

bool cw_source_root_allows_url(const char *url)
{
    for (size_t i = 0; i < roots.urls_n; i++)
        if (is_ours(&roots.urls[i]) && is_url_below(roots.urls[i].path, url))
            return true;
    return !cw_source_root_is_set();
}

int cw_source_root_check_url(const char *url, struct cw_err *err)
{
    int rc = cw_url_check(url, err);
    if (rc < 0 || cw_source_root_allows_url(url))
        return rc;
    return denied(url, "is outside of", err);
}

/* ---- who reads ---- */

uint32_t cw_source_root_reader(const char *tenant)
{
    if (!tenant || !tenant[0])
        tenant = CW_TENANT_DEFAULT;
    for (size_t i = 0; i < roots.tenants_n; i++)
        if (cw_str_eq(roots.tenants[i], tenant))
            return (uint32_t)i + 1;
    return 0;
}

void cw_source_root_read_as(uint32_t reader)
{
    reads_as = reader;
}

uint32_t cw_source_root_reads_as(void)
{
    return reads_as;
}

static uint32_t add_tenant(const char *tenant)
{
    uint32_t reader = cw_source_root_reader(tenant);
    if (reader == 0) {
        roots.tenants[roots.tenants_n++] = cw_mem_strdup(tenant);
        reader = (uint32_t)roots.tenants_n;
    }
    return reader;
}

/* ---- the table ---- */

static bool is_below(const struct root *above, const struct root *root, bool is_url)
{
    return is_url ? is_url_below(above->path, root->path)
                  : rest_below(above->real, root->real) != NULL;
}

/* Whether others than the root's tenant could read there, by another root above it. Several tenants may have
 * the same root. */
static bool opens(const struct root *above, const struct root *root, bool is_url)
{
    return root->reader != 0 && above->reader != root->reader && is_below(above, root, is_url) &&
           (above->reader == 0 || !is_below(root, above, is_url));
}

/* Whoever limits a root to a tenant means that nobody else reads there. Takes the root's strings. */
static int add(struct root *root, bool is_url, struct cw_err *err)
{
    struct root *v = is_url ? roots.urls : roots.v;
    size_t *n = is_url ? &roots.urls_n : &roots.n;
    for (size_t i = 0; i < *n; i++) {
        const bool is_first = opens(&v[i], root, is_url);
        if (!is_first && !opens(root, &v[i], is_url))
            continue;
        const struct root *above = is_first ? &v[i] : root, *one = is_first ? root : &v[i];
        return cw_err_set(err, CW_E_INVALID,
                          OPTION " %s,tenant=%s: others may read there, since " OPTION
                                 " %s says so",
                          one->path, roots.tenants[one->reader - 1], above->path);
    }
    v[(*n)++] = *root;
    *root = (struct root){.fd = -1};
    return 0;
}

static void root_fini(struct root *root)
{
    cw_mem_free(root->path);
    cw_mem_free(root->real);
    if (root->fd >= 0)
        close(root->fd);
}

static int add_url(struct root *root, struct cw_err *err)
{
    int rc = cw_url_check(root->path, err);
    return rc < 0 ? cw_err_wrap(err, OPTION) : add(root, true, err);
}

static int add_dir(struct root *root, struct cw_err *err)
{
    char real[PATH_BYTES];
    if (strstr(root->path, "://"))
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          OPTION " %s: its scheme is none that this version reads", root->path);
    if (root->path[0] != '/')
        return cw_err_set(err, CW_E_INVALID, OPTION " \"%s\": is not a path from / on", root->path);
    root->fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int failure = root->fd < 0 ? errno : real_path(root->fd, real, sizeof(real));
    if (failure)
        return cw_err_errno(err, failure, OPTION " %s", root->path);
    root->real = cw_mem_strdup(real);
    long probe = open_below(root->fd, ".", O_PATH | O_CLOEXEC);
    roots.no_openat2 = probe < 0 && (errno == ENOSYS || errno == EPERM);
    if (probe >= 0)
        close((int)probe);
    return add(root, false, err);
}

/* Cuts ",tenant=NAME" off the end of a root. */
static int take_tenant(struct root *root, struct cw_err *err)
{
    static const char word[] = ",tenant=";
    char *at = strstr(root->path, word);
    if (!at)
        return 0;
    const char *tenant = at + strlen(word);
    int rc = cw_name_check_tenant(tenant, err);
    if (rc < 0)
        return cw_err_wrap(err, OPTION " %s", root->path);
    root->reader = add_tenant(tenant);
    *at = '\0';
    return 0;
}

int cw_source_root_add(const char *url_prefix, struct cw_err *err)
{
    if (roots.n + roots.urls_n == CW_SOURCE_ROOTS_MAX)
        return cw_err_set(err, CW_E_LIMIT, OPTION ": at most %d are allowed", CW_SOURCE_ROOTS_MAX);
    if (cw_str_starts(url_prefix, "file://"))
        url_prefix += strlen("file://");
    struct root root = {.path = cw_mem_strdup(url_prefix), .fd = -1};
    int rc = take_tenant(&root, err);
    if (rc == 0)
        rc = cw_url_remote_scheme(root.path) ? add_url(&root, err) : add_dir(&root, err);
    root_fini(&root);
    return rc;
}

void cw_source_root_reset(void)
{
    for (size_t i = 0; i < roots.n; i++)
        root_fini(&roots.v[i]);
    for (size_t i = 0; i < roots.urls_n; i++)
        root_fini(&roots.urls[i]);
    for (size_t i = 0; i < roots.tenants_n; i++)
        cw_mem_free(roots.tenants[i]);
    memset(&roots, 0, sizeof(roots));
}

bool cw_source_root_is_set(void)
{
    return roots.n + roots.urls_n > 0;
}
