/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arrays/array_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/arrays/array_write.h"
#include "data/spec.h"

/* ---- what an array is ---- */

static int wrong(const struct cachew_tensor *array, struct cw_err *err, const char *why)
{
    return cw_err_set(err, CW_E_INVALID, "array %s: %s",
                      array->name && *array->name ? array->name : "without a name", why);
}

static int check_strings(const struct cachew_tensor *array, struct cw_err *err)
{
    if (array->rank != 1)
        return wrong(array, err, "strings must have one dimension");
    if (array->dims[0] > 0 && !array->offsets)
        return wrong(array, err, "has no offsets");
    for (int64_t i = 0; i < array->dims[0]; i++)
        if (array->offsets[i] < 0 || array->offsets[i] > array->offsets[i + 1] ||
            (uint64_t)array->offsets[i + 1] > array->bytes)
            return wrong(array, err, "its offsets do not ascend, or lie behind its data");
    return 0;
}

static int check(const struct cachew_tensor *array, struct cw_err *err)
{
    size_t bytes = cachew_dtype_bytes(array->dtype);
    if (!array->name || !*array->name || strlen(array->name) >= CW_FIELD_NAME_BYTES)
        return wrong(array, err, "a name has 1 to 47 bytes");
    if ((unsigned)array->dtype > CACHEW_BF16)
        return wrong(array, err, "its type is none");
    if (array->rank < 1 || array->rank > CACHEW_RANK_MAX)
        return wrong(array, err, "has no rows: the first of 1 to 8 dimensions counts them");
    for (int i = 0; i < array->rank; i++)
        if (array->dims[i] < 0 || __builtin_mul_overflow(bytes, (size_t)array->dims[i], &bytes))
            return wrong(array, err, "its dimensions are wrong");
    if (array->bytes > 0 && !array->data)
        return wrong(array, err, "has no data");
    if (array->dtype == CACHEW_STR)
        return check_strings(array, err);
    return bytes == array->bytes ? 0 : wrong(array, err, "its bytes do not fit its dimensions");
}

static bool is_npy(const struct cachew_tensor *array)
{
    return array->dtype != CACHEW_STR && array->dtype != CACHEW_BF16;
}

static struct cw_hash hash_of(const struct cachew_tensor *array)
{
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add_u64(hasher, (uint64_t)array->dtype);
    for (int i = 0; i < array->rank; i++)
        cw_hasher_add_u64(hasher, (uint64_t)array->dims[i]);
    if (!is_npy(array))
        cw_hasher_add_str(hasher, array->name); /* a chunk has it, a .npy file does not */
    if (array->dtype == CACHEW_STR && array->dims[0] > 0)
        cw_hasher_add(hasher, array->offsets, (size_t)(array->dims[0] + 1) * sizeof(int64_t));
    if (array->bytes > 0)
        cw_hasher_add(hasher, array->data, array->bytes);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

/* ---- files ---- */

/* Removes what stands at a name: a file, or a folder of files. */
static void remove_all(const char *path)
{
    DIR *dir = unlink(path) < 0 ? opendir(path) : NULL;
    if (!dir)
        return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
    rmdir(path);
}

/* The directory of this user; the last part is made so that others cannot read there. */
static int own_directory(char **ret_path, struct cw_err *err)
{
    const char *given = getenv("CACHEW_ARRAY_DIR"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (given && *given)
        *ret_path = cw_mem_strdup(given);
    else if (cache && *cache == '/')
        *ret_path = cw_mem_printf("%s/cachew/arrays", cache);
    else if (home && *home == '/')
        *ret_path = cw_mem_printf("%s/.cache/cachew/arrays", home);
    else
        return cw_err_set(err, CW_E_INVALID,
                          "there is no directory for arrays: name one, or set CACHEW_ARRAY_DIR");
    return 0;
}

static int make_directories(const char *path, mode_t mode, struct cw_err *err)
{
    cw_autofree char *parts = cw_mem_strdup(path);
    for (char *p = parts + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        (void)mkdir(parts, 0777); /* what is wrong is found at the end */
        *p = '/';
    }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return cw_err_errno(err, errno, "%s", path);
    return 0;
}

/* What names the path in a pattern. */
static char *pattern_of(const char *path)
{
    struct cw_str text = {0};
    for (const char *p = path; *p; p++) {
        if (strchr("*?[{\\", *p))
            cw_str_add_char(&text, '\\');
        cw_str_add_char(&text, *p);
    }
    return cw_str_take(&text);
}

/* Gives what was written its name. Another process may have written the same meanwhile: then its file
 * stays, since jobs know it by its time. */
static int give_name(const char *tmp, const char *path, bool is_folder, struct cw_err *err)
{
    int failure = 0;
    if (is_folder ? rename(tmp, path) < 0 : link(tmp, path) < 0)
        failure = errno;
    if (!is_folder && (failure == EPERM || failure == ENOTSUP || failure == EMLINK)) /* no links */
        failure = rename(tmp, path) < 0 ? errno : 0;
    bool is_there = failure == EEXIST || failure == ENOTEMPTY;
    return failure == 0 || is_there ? 0 : cw_err_errno(err, failure, "%s", path);
}

static int write_new(const struct cachew_tensor *array, const char *path, struct cw_err *err)
{
    static atomic_uint number;
    cw_autofree char *tmp =
        cw_mem_printf("%s.%ld.%u.tmp", path, (long)getpid(), atomic_fetch_add(&number, 1));
    bool is_folder = !is_npy(array);
    remove_all(tmp);
    int rc =
        is_folder ? cw_array_write_chunks(array, tmp, err) : cw_array_write_npy(array, tmp, err);
    if (rc == 0)
        rc = give_name(tmp, path, is_folder, err);
    remove_all(tmp);
    return rc < 0 ? cw_err_wrap(err, "array %s", array->name) : 0;
}

int cw_array_write(const struct cachew_tensor *array, const char *directory,
                   struct cw_array_file *ret_file, struct cw_err *err)
{
    cw_autofree char *own = NULL;
    char name[CW_HASH_TEXT_BYTES];
    struct stat st;
    int rc = check(array, err);
    if (rc == 0 && !directory)
        rc = own_directory(&own, err);
    if (rc == 0)
        rc = make_directories(directory ? directory : own, directory ? 0777 : 0700, err);
    if (rc < 0)
        return rc;
    char full[PATH_MAX];
    if (!realpath(directory ? directory : own, full))
        return cw_err_errno(err, errno, "%s", directory ? directory : own);
    cw_hash_text(hash_of(array), name);
    cw_autofree char *path =
        cw_mem_printf("%s/%s.%s", full, name, is_npy(array) ? "npy" : "chunks");
    if (stat(path, &st) < 0)
        rc = write_new(array, path, err);
    if (rc < 0)
        return rc;
    cw_autofree char *pattern = pattern_of(path);
    ret_file->op = is_npy(array) ? "npy" : "chunks";
    ret_file->pattern = is_npy(array) ? cw_steal(&pattern) : cw_mem_printf("%s/*.chunk", pattern);
    return 0;
}
