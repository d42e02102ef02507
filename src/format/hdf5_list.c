/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the datasets of an HDF5 file. Groups may contain each other, so the walk has a limit of depth and
 * one of names. */
#include "format/hdf5_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { NAME_BYTES = 1024 };

/* A group whose members are being looked at. */
struct level {
    hid_t group;
    hsize_t next, n;
    size_t path_n; /* how much of the path is the group's */
};
struct walk {
    const struct cw_hdf5_library *h5;
    const struct cw_hdf5 *file;
    struct level levels[CW_HDF5_DEPTH_MAX];
    size_t depth, members;
    struct cw_str path;
    char **names;
    size_t n, cap;
};

static int begin_group(struct walk *w, hid_t group, struct cw_err *err)
{
    H5G_info_t info;
    if (w->h5->H5Gget_info(group, &info) < 0) {
        w->h5->H5Oclose(group);
        return cw_hdf5_fail(w->h5, w->file->path, NULL, "a group cannot be read", err);
    }
    w->levels[w->depth++] = (struct level){.group = group, .n = info.nlinks, .path_n = w->path.len};
    return 0;
}

static void set_path(struct walk *w, size_t n, const char *name)
{
    if (w->path.s)
        w->path.s[n] = '\0';
    w->path.len = n;
    if (n > 0)
        cw_str_add_char(&w->path, '/');
    cw_str_add(&w->path, name);
}

/* Looks at a member of the innermost group. What cannot be opened (a link to nothing, or to another file)
 * is passed over. */
static int look_at(struct walk *w, struct cw_err *err)
{
    struct level *level = &w->levels[w->depth - 1];
    char name[NAME_BYTES];
    const ssize_t n = w->h5->H5Lget_name_by_idx(level->group, ".", H5_INDEX_NAME, H5_ITER_INC,
                                                level->next++, name, sizeof(name), H5P_DEFAULT);
    if (n < 0)
        return cw_hdf5_fail(w->h5, w->file->path, NULL, "a name cannot be read", err);
    if ((size_t)n >= sizeof(name) || ++w->members > CW_HDF5_SETS_MAX)
        return cw_err_set(err, CW_E_LIMIT,
                          "%s: it has more than %d datasets and groups, or names of more than %d "
                          "bytes: choose `datasets` and `types`",
                          w->file->path, CW_HDF5_SETS_MAX, NAME_BYTES - 1);
    const hid_t id = w->h5->H5Oopen(level->group, name, H5P_DEFAULT);
    if (id < 0)
        return 0;
    const H5I_type_t type = w->h5->H5Iget_type(id);
    set_path(w, level->path_n, name);
    if (type == H5I_GROUP && w->depth < CW_HDF5_DEPTH_MAX)
        return begin_group(w, id, err);
    if (type == H5I_DATASET) {
        CW_GROW(w->names, w->n, w->cap);
        w->names[w->n++] = cw_mem_strdup(cw_str_text(&w->path));
    }
    w->h5->H5Oclose(id);
    return 0;
}

static int walk(struct walk *w, struct cw_err *err)
{
    const hid_t root = w->h5->H5Oopen(w->file->id, "/", H5P_DEFAULT);
    int rc = root < 0 ? cw_hdf5_fail(w->h5, w->file->path, NULL, "it has no root", err)
                      : begin_group(w, root, err);
    while (w->depth > 0) {
        struct level *level = &w->levels[w->depth - 1];
        if (rc == 0 && level->next < level->n) {
            rc = look_at(w, err);
        } else {
            w->h5->H5Oclose(level->group);
            w->depth--;
        }
    }
    return rc;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int cw_hdf5_list(struct cw_hdf5 *file, char ***ret_names, size_t *ret_n, struct cw_err *err)
{
    struct walk w = {.h5 = cw_hdf5_lock(err), .file = file};
    if (!w.h5)
        return CW_E_UNSUPPORTED;
    int rc = walk(&w, err);
    cw_hdf5_unlock();
    cw_str_fini(&w.path);
    if (rc == 0) {
        if (w.n > 0)
            qsort(w.names, w.n, sizeof(*w.names), compare);
        *ret_names = w.names;
        *ret_n = w.n;
        return 0;
    }
    for (size_t i = 0; i < w.n; i++)
        cw_mem_free(w.names[i]);
    cw_mem_free(w.names);
    return rc;
}
