/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of resources, and which files may be read: rlimits and Landlock. */
#include "python/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_FILES_MAX 256

static long landlock_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

int cw_sandbox_check(struct cw_err *err)
{
    if (landlock_version() < 1)
        return cw_err_set(err, CW_E_UNSUPPORTED, "this kernel has no Landlock (%s)",
                          strerror(errno));
    if (prctl(PR_GET_SECCOMP) < 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "this kernel has no seccomp (%s)",
                          strerror(errno));
    return 0;
}

static int limit(int resource, uint64_t most, const char *what, struct cw_err *err)
{
    const struct rlimit both = {most, most};
    return setrlimit((__rlimit_resource_t)resource, &both) == 0
               ? 0
               : cw_err_errno(err, errno, "cannot limit %s", what);
}

int cw_sandbox_limit(uint64_t memory_bytes, struct cw_err *err)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "1000", 4); /* a failure does not matter: the limit of memory holds */
        close(fd);
    }
    int rc = limit(RLIMIT_AS, memory_bytes, "memory", err);
    if (rc == 0)
        rc = limit(RLIMIT_NOFILE, OPEN_FILES_MAX, "open files", err);
    if (rc == 0)
        rc = limit(RLIMIT_FSIZE, 0, "what is written to files", err);
    return rc == 0 ? limit(RLIMIT_CORE, 0, "cores", err) : rc;
}

/* All rights to files that this version of Landlock knows: rights that are not handled are not
 * taken. The headers of the system where this is built may be older than the kernel. */
static uint64_t all_rights(long version)
{
    static const int bits[] = {0, 13, 14, 15, 15, 16};
    return (UINT64_C(1) << bits[CW_MIN(version, (long)CW_ARRAY_LEN(bits) - 1)]) - 1;
}

/* The rights that exist for files that are no directories. */
#define FILE_RIGHTS                                                                                \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE)

static int allow(int rules, const char *path, uint64_t rights, struct cw_err *err)
{
    struct stat st;
    struct landlock_path_beneath_attr rule = {.parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0 || fstat(rule.parent_fd, &st) != 0)
        return 0; /* it does not exist, so it is not read */
    rule.allowed_access = S_ISDIR(st.st_mode) ? rights : rights & FILE_RIGHTS;
    long rc = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int saved = errno;
    close(rule.parent_fd);
    return rc == 0 ? 0 : cw_err_errno(err, saved, "cannot allow to read %s", path);
}

static int allow_all(int rules, const char *const *readable, const char *const *programs,
                     struct cw_err *err)
{
    const uint64_t reads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
    int rc = allow(rules, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
                   err);
    if (rc == 0)
        rc = allow(rules, "/dev/urandom", LANDLOCK_ACCESS_FS_READ_FILE, err);
    for (size_t i = 0; rc == 0 && readable[i]; i++)
        rc = allow(rules, readable[i], reads, err);
    for (size_t i = 0; rc == 0 && programs[i]; i++)
        rc = allow(rules, programs[i], LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE,
                   err);
    return rc;
}

int cw_sandbox_restrict_files(const char *const *readable, const char *const *programs,
                              struct cw_err *err)
{
    const struct landlock_ruleset_attr attr = {.handled_access_fs = all_rights(landlock_version())};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return cw_err_errno(err, errno, "cannot set no_new_privs");
    long rules = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
    if (rules < 0)
        return cw_err_errno(err, errno, "this kernel has no Landlock");
    int rc = allow_all((int)rules, readable, programs, err);
    if (rc == 0 && syscall(SYS_landlock_restrict_self, (int)rules, 0) != 0)
        rc = cw_err_errno(err, errno, "cannot restrict which files are read");
    close((int)rules);
    return rc;
}
