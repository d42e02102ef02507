/* SPDX-License-Identifier: Apache-2.0 */
/* Generations: with a lease, each dispatcher works in a folder of its own, generation-N in the state
 * directory. Whoever takes over makes the next one, which fences all before it, and then copies the
 * last one that was complete. What a late writer still commits goes into his own folder, where nobody
 * reads it any more; and since he looks for a higher one after each commit, before anything is
 * answered, nobody was told of it. No lock of the file system is asked. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "dispatcher/state/generation_folders.h"
#include "dispatcher/state/state.h"
#include "dispatcher/state/state_copy.h"

#define PREFIX "generation-"
#define COMPLETE "complete" /* The file says that the folder has all, and its generation. */
#define TRIES_MAX 100       /* for a number that nobody else takes */

char *cw_generation_path(const char *root, uint64_t number)
{
    return cw_mem_printf("%s/" PREFIX "%llu", root, (unsigned long long)number);
}

/* ---- which there are ---- */

static bool number_of(const char *name, uint64_t *ret_number)
{
    return cw_str_starts(name, PREFIX) && cw_str_to_u64(name + strlen(PREFIX), ret_number) &&
           *ret_number > 0;
}

/* Calls fn for each generation. The directory is opened anew each time: a network file system then
 * asks its server. */
static int for_each(const char *root, void (*fn)(void *arg, const char *root, uint64_t number),
                    void *arg, struct cw_err *err)
{
    DIR *dir = opendir(root);
    const struct dirent *entry;
    uint64_t number;
    if (!dir)
        return cw_err_errno(err, errno, "cannot read the state directory %s", root);
    while (errno = 0, (entry = readdir(dir)))
        if (number_of(entry->d_name, &number))
            fn(arg, root, number);
    int failure = errno;
    (void)closedir(dir);
    return failure == 0 ? 0
                        : cw_err_errno(err, failure, "cannot read the state directory %s", root);
}

static bool is_there(const char *dir, const char *name)
{
    cw_autofree char *path = cw_mem_printf("%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void on_highest(void *arg, const char *root, uint64_t number)
{
    uint64_t *highest = arg;
    (void)root;
    *highest = CW_MAX(*highest, number);
}

static void on_complete(void *arg, const char *root, uint64_t number)
{
    cw_autofree char *dir = cw_generation_path(root, number);
    if (is_there(dir, COMPLETE))
        on_highest(arg, root, number);
}

int cw_generation_highest(const char *root, uint64_t *ret_highest, struct cw_err *err)
{
    *ret_highest = 0;
    return for_each(root, on_highest, ret_highest, err);
}

enum cw_generation_look cw_generation_look(const char *root, uint64_t own, struct cw_err *err)
{
    uint64_t highest;
    if (cw_generation_highest(root, &highest, err) != 0)
        return CW_GENERATION_UNKNOWN;
    if (highest == own)
        return CW_GENERATION_OWN;
    if (highest > own)
        cw_err_set(err, CW_E_STATE, "another dispatcher has taken over: %s has generation-%llu",
                   root, (unsigned long long)highest);
    else
        cw_err_set(err, CW_E_STATE, "%s has no generation-%llu any more", root,
                   (unsigned long long)own);
    return CW_GENERATION_OVER;
}

/* ---- a new one ---- */

static int sync_dir(const char *dir, struct cw_err *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) != 0 ? cw_err_errno(err, errno, "cannot sync %s", dir) : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Makes the folder with the next number. If two try at once they get different ones. */
static int make_next(const char *root, uint64_t *ret_number, struct cw_err *err)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        uint64_t highest;
        int rc = cw_generation_highest(root, &highest, err);
        if (rc != 0)
            return rc;
        cw_autofree char *dir = cw_generation_path(root, highest + 1);
        cw_fault_point("state.before_mkdir");
        if (mkdir(dir, 0700) == 0) {
            *ret_number = highest + 1;
            return sync_dir(root, err);
        }
        if (errno != EEXIST)
            return cw_err_errno(err, errno, "cannot make %s", dir);
    }
    return cw_err_set(err, CW_E_AGAIN, "%s: others make generations all the time", root);
}

/* What lies in the directory itself is of a dispatcher without a lease, which must have ended. */
static int check_unlocked(const char *root, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/lock", root);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : cw_err_errno(err, errno, "cannot open %s", path);
    bool locked = cw_state_lock_is_held(fd);
    close(fd);
    return !locked ? 0
                   : cw_err_set(err, CW_E_STATE,
                                "state directory %s is in use by a dispatcher without --lease: "
                                "stop that one first",
                                root);
}

/* Copies the last state that there is. The source is looked for after the new folder was made: from
 * then on nobody completes an older one and goes on with it. */
static int copy_last(const char *root, const char *to, uint64_t own, uint64_t *ret_source,
                     uint64_t *ret_locked, struct cw_err *err)
{
    uint64_t source = 0;
    int rc = for_each(root, on_complete, &source, err);
    if (rc == 0 && source > own)
        return cw_err_set(err, CW_E_STATE,
                          "another dispatcher has taken over: %s has "
                          "generation-%llu",
                          root, (unsigned long long)source);
    if (rc == 0 && source == 0)
        rc = check_unlocked(root, err);
    if (rc != 0)
        return rc;
    cw_autofree char *from = source > 0 ? cw_generation_path(root, source) : cw_mem_strdup(root);
    *ret_source = source;
    rc = cw_state_read_generation_file(from, source > 0 ? COMPLETE : "lock", ret_locked, err);
    if (rc == 0)
        rc = cw_state_copy_files(from, to, err);
    if (rc == 0)
        rc = sync_dir(to, err);
    return rc;
}

int cw_generation_begin(const char *root, struct cw_generation *ret, struct cw_err *err)
{
    int rc = make_next(root, &ret->number, err);
    if (rc != 0)
        return rc;
    ret->dir = cw_generation_path(root, ret->number);
    cw_fault_point("state.after_mkdir");
    return copy_last(root, ret->dir, ret->number, &ret->source, &ret->locked, err);
}

/* ---- old ones ---- */

static void remove_folder(const char *dir)
{
    static const char *const files[] = {
        COMPLETE,           "state.db",   "state.db-wal",      "state.db-shm",
        "state.db-journal", "backup.tmp", "backup.tmp-journal"};
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", dir, files[i]);
        (void)unlink(path);
    }
    if (rmdir(dir) != 0)
        cw_log_warn(CW_LOG_MOD, "%s cannot be removed: %s", dir, strerror(errno));
}

struct old {
    uint64_t below, found;
};

static void on_old(void *arg, const char *root, uint64_t number)
{
    struct old *old = arg;
    (void)root;
    if (number < old->below && (old->found == 0 || number < old->found))
        old->found = number;
}

static void remove_old(const char *root, uint64_t below)
{
    for (;;) { /* the lowest one first */
        struct old old = {.below = below};
        if (for_each(root, on_old, &old, NULL) != 0 || old.found == 0)
            return;
        cw_autofree char *dir = cw_generation_path(root, old.found);
        remove_folder(dir);
        if (access(dir, F_OK) == 0)
            return;
    }
}

int cw_generation_complete(const char *root, const struct cw_generation *generation,
                           uint64_t number_told, struct cw_err *err)
{
    int rc = cw_state_write_generation_file(generation->dir, COMPLETE, number_told, err);
    if (rc == 0)
        rc = sync_dir(generation->dir, err);
    cw_fault_point("state.after_complete");
    if (rc == 0 && cw_generation_look(root, generation->number, err) != CW_GENERATION_OWN)
        rc = err->code;
    if (rc == 0)
        remove_old(root, generation->source);
    return rc;
}
