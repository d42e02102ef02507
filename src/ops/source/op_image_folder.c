/* SPDX-License-Identifier: Apache-2.0 */
/* Source `image_folder`: gives the paths of files in folders, and of each the number of its class,
 * which is the name of a folder that it lies in. */
#include "base/mem.h"
#include "io/glob.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

#include <stdlib.h>
#include <string.h>

enum { LEVEL_MAX = 16 };

struct image_folder_opts {
    struct cw_str_list pattern;
    struct cw_str_list classes;
    int64_t level;
    char *path_field, *label_field, *class_field;
};
/* A class is a part of a path of `files`, or a text of the options. */
struct class
{
    const char *name;
    size_t n;
    int64_t number;
};
struct image_folder_state {
    struct cw_file_source source;
    struct class *of_file; /* the class of each file */
};

#define OFFSET(member) offsetof(struct image_folder_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "classes",
     .help = "names of all classes in the order of their numbers; none = the folders that are "
             "found, sorted",
     .type = CW_OPT_STR_LIST,
     .offset = OFFSET(classes),
     .len_min = 0,
     .len_max = 1 << 20},
    {.name = "level",
     .help = "which folder names the class: 1 = that in which the file lies, 2 = that above it",
     .type = CW_OPT_I64,
     .offset = OFFSET(level),
     .def = "1",
     .min = 1,
     .max = LEVEL_MAX},
    {.name = "path_field",
     .help = "name of the field with the path",
     .type = CW_OPT_STR,
     .offset = OFFSET(path_field),
     .def = "\"path\""},
    {.name = "label_field",
     .help = "name of the field with the class's number",
     .type = CW_OPT_STR,
     .offset = OFFSET(label_field),
     .def = "\"label\""},
    {.name = "class_field",
     .help = "name of a field with the class's name; \"\" = none",
     .type = CW_OPT_STR,
     .offset = OFFSET(class_field),
     .def = "\"\""},
    {0},
};

static int compare(const void *a, const void *b)
{
    const struct class *x = *(const struct class *const *)a, *y = *(const struct class *const *)b;
    int order = memcmp(x->name, y->name, CW_MIN(x->n, y->n));
    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static int check(const void *opts, struct cw_err *err)
{
    const struct image_folder_opts *o = opts;
    cw_autofree struct class *all = CW_NEW_ARRAY(struct class, o->classes.n + 1);
    cw_autofree const struct class **sorted = cw_mem_new_array(o->classes.n + 1, sizeof(*sorted));
    for (size_t i = 0; i < o->classes.n; i++) {
        all[i] = (struct class){.name = o->classes.v[i], .n = strlen(o->classes.v[i])};
        sorted[i] = &all[i];
    }
    if (o->classes.n > 1)
        qsort(sorted, o->classes.n, sizeof(*sorted), compare);
    for (size_t i = 1; i < o->classes.n; i++)
        if (compare(&sorted[i - 1], &sorted[i]) == 0)
            return cw_err_set(err, CW_E_INVALID, "option classes: \"%s\" is there twice",
                              sorted[i]->name);
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct image_folder_opts *o = opts;
    CW_SPEC_AUTO spec = {0};
    (void)in;
    (void)in_n;
    int rc = cw_spec_add(&spec, o->path_field, CW_DTYPE_STR, 0, NULL, err);
    if (rc == 0)
        rc = cw_spec_add(&spec, o->label_field, CW_DTYPE_I64, 0, NULL, err);
    if (rc == 0 && o->class_field[0])
        rc = cw_spec_add(&spec, o->class_field, CW_DTYPE_STR, 0, NULL, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

/* Finds the name of the folder that is `level` above the file. */
static int folder_of(const char *path, int64_t level, struct class *ret_class, struct cw_err *err)
{
    const char *end = path + strlen(path), *begin;
    for (int64_t k = 0;; k++) {
        while (end > path && end[-1] != '/')
            end--;
        while (end > path && end[-1] == '/')
            end--;
        for (begin = end; begin > path && begin[-1] != '/';)
            begin--;
        if (begin == end)
            return cw_err_set(err, CW_E_INVALID,
                              "%s: there is no folder %lld above it, which would name its class",
                              path, (long long)level);
        if (k + 1 == level)
            break;
    }
    *ret_class = (struct class){.name = begin, .n = (size_t)(end - begin)};
    return 0;
}

/* Numbers the classes of all files, in the order of their names. */
static void number_all(struct image_folder_state *s)
{
    size_t n = s->source.files->n;
    cw_autofree struct class **sorted = cw_mem_new_array(n, sizeof(struct class *));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &s->of_file[i];
    qsort(sorted, n, sizeof(struct class *), compare);
    for (size_t i = 1; i < n; i++)
        sorted[i]->number =
            sorted[i - 1]->number + (compare(&sorted[i - 1], &sorted[i]) != 0 ? 1 : 0);
}

/* Numbers them by the option `classes`. */
static int number_by_list(struct image_folder_state *s, const struct cw_str_list *classes,
                          struct cw_err *err)
{
    cw_autofree struct class *all = CW_NEW_ARRAY(struct class, classes->n);
    cw_autofree struct class **sorted = cw_mem_new_array(classes->n, sizeof(struct class *));
    for (size_t i = 0; i < classes->n; i++) {
        all[i] = (struct class){classes->v[i], strlen(classes->v[i]), (int64_t)i};
        sorted[i] = &all[i];
    }
    qsort(sorted, classes->n, sizeof(struct class *), compare);
    for (size_t i = 0; i < s->source.files->n; i++) {
        struct class *its = &s->of_file[i];
        struct class **found = bsearch(&its, sorted, classes->n, sizeof(struct class *), compare);
        if (!found)
            return cw_err_set(err, CW_E_INVALID, "%s: its folder \"%.*s\" is not in option classes",
                              s->source.files->v[i].path, (int)its->n, its->name);
        its->number = (*found)->number;
    }
    return 0;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct cw_file_source *s = state;
    (void)how;
    (void)err;
    s->files->v[i].records = 1;
    return 0;
}

static void end(void *state)
{
    struct image_folder_state *s = state;
    cw_mem_free(s->of_file);
}

/* A folder of classes, as torchvision takes it, has no images of its own. */
static int glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                struct cw_io_list *list, struct cw_err *err)
{
    struct cw_err why = {0};
    int rc = cw_io_glob(pattern, entries_max, stop, list, &why);
    if (rc == CW_E_INVALID && strstr(why.msg, CW_GLOB_DIRECTORY))
        return cw_err_set(err, rc,
                          "pattern \"%s\": " CW_GLOB_DIRECTORY "; add /*/* for the files in its "
                          "folders, each of which is a class",
                          pattern);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct image_folder_state),
                                                .glob = glob,
                                                .end = end,
                                                .prepare = prepare,
                                                .names_only = true};

static int number(struct image_folder_state *s, const struct image_folder_opts *o,
                  struct cw_err *err)
{
    int rc = 0;
    s->of_file = CW_NEW_ARRAY(struct class, s->source.files->n);
    for (size_t i = 0; i < s->source.files->n && rc == 0; i++)
        rc = folder_of(s->source.files->v[i].path, o->level, &s->of_file[i], err);
    if (rc == 0 && o->classes.n > 0)
        rc = number_by_list(s, &o->classes, err);
    else if (rc == 0)
        number_all(s);
    return rc;
}

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct image_folder_opts *o = opts;
    void *state = NULL;
    int rc = cw_file_source_new(&kind, &o->pattern, how, &state, err);
    if (rc == 0)
        rc = number(state, o, err);
    if (rc < 0)
        cw_file_source_free(state);
    else
        *ret_state = state;
    return rc;
}

static int read_path(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                     struct cw_element *ret_element, struct cw_err *err)
{
    const struct image_folder_opts *o = opts;
    const struct image_folder_state *s = state;
    const struct cw_file *file = &s->source.files->v[pos];
    int64_t *label = cw_op_scratch(ctx, sizeof(*label), err);
    if (!label)
        return CW_E_NOMEM;
    *label = s->of_file[pos].number;
    ret_element->n = o->class_field[0] ? 3 : 2;
    ret_element->fields[0] = (struct cw_view){.data = file->path,
                                              .bytes = strlen(file->path),
                                              .dtype = CW_DTYPE_STR,
                                              .stamp = &file->stamp};
    ret_element->fields[1] =
        (struct cw_view){.data = label, .bytes = sizeof(*label), .dtype = CW_DTYPE_I64};
    if (o->class_field[0])
        ret_element->fields[2] =
            (struct cw_view){.data = file->path + (s->of_file[pos].name - file->path),
                             .bytes = s->of_file[pos].n,
                             .dtype = CW_DTYPE_STR};
    return 0;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct image_folder_state *s = state;
    (void)opts;
    cw_str_add(out, s->source.files->v[pos].path);
}

static const char *locate(const void *opts, void *state, int64_t pos, int64_t *ret_record)
{
    const struct image_folder_state *s = state;
    (void)opts;
    *ret_record = -1;
    return s->source.files->v[pos].path;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct class *x = *(const struct class *const *)a, *y = *(const struct class *const *)b;
    return (x->number > y->number) - (x->number < y->number);
}

/* With the option `classes` those that have no file, too. */
static void labels(const void *opts, void *state,
                   void (*fn)(void *arg, int64_t number, const char *name, size_t n), void *arg)
{
    const struct image_folder_opts *o = opts;
    const struct image_folder_state *s = state;
    const size_t n = o->classes.n > 0 ? 0 : s->source.files->n;
    for (size_t i = 0; i < o->classes.n; i++)
        fn(arg, (int64_t)i, o->classes.v[i], strlen(o->classes.v[i]));
    cw_autofree struct class **sorted = cw_mem_new_array(n + 1, sizeof(struct class *));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &s->of_file[i];
    if (n > 1)
        qsort(sorted, n, sizeof(struct class *), compare_numbers);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i]->number != sorted[i - 1]->number)
            fn(arg, sorted[i]->number, sorted[i]->name, sorted[i]->n);
}

const struct cw_op cw_op_image_folder = {
    .name = "image_folder",
    .version = 1,
    .summary = "paths of files in folders, with a label from the folder's name",
    .doc =
        "Gives for each file that matches, sorted bytewise, its path and the number of its class: "
        "`/data/train/*/*.jpg`\n"
        "for folders of images as torchvision's ImageFolder and Keras read them. The name of the "
        "folder in which\n"
        "a file lies is its class, or with `level` that of a folder above. `read_file` behind it "
        "gives the bytes.\n"
        "\n"
        "Without `classes` the names that are found, sorted bytewise, are numbered from 0: the "
        "same in each run over\n"
        "these folders, but not over others. Give `classes` where a part of the data may lack a "
        "class; a folder\n"
        "that is not in it is an error. `class_field` gives the name too. `cachew check` lists the "
        "classes. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES | CW_OP_PATHS,
    .options = options,
    .options_bytes = sizeof(struct image_folder_opts),
    .check = check,
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_path,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = locate,
    .labels = labels,
    .ahead = cw_file_source_ahead,
};
