/* SPDX-License-Identifier: Apache-2.0 */
/* Field numbers below are those of google/protobuf/descriptor.proto. The set is part of this
 * program and was made when it was built. */
#include "rpc/descriptors.h"

#include "base/mem.h"
#include "rpc/pb.h"

enum { SET_FILE = 1 };
enum {
    FILE_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_DEPENDENCY = 3,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6
};
enum { NAME = 1, MESSAGE_NESTED = 3, MESSAGE_ENUM = 4, SERVICE_METHOD = 2 };
enum level { LEVEL_FILE, LEVEL_MESSAGE, LEVEL_SERVICE, LEVEL_LEAF };

#define DEPTH_MAX 16

struct span {
    const uint8_t *data;
    size_t n;
};

/* Returns the first field of this number as a new string; NULL if there is none. */
static char *text_of(struct span in, uint32_t number)
{
    struct cw_pb_field field;
    const uint8_t *p = in.data;
    while (cw_pb_next(&p, in.data + in.n, &field))
        if (field.number == number && field.type == CW_PB_BYTES)
            return cw_mem_strndup((const char *)field.data, (size_t)field.value);
    return NULL;
}

/* Returns what kind of named thing a field contains, if any. */
static enum level child_level(enum level level, uint32_t number)
{
    if (level == LEVEL_FILE && number == FILE_MESSAGE)
        return LEVEL_MESSAGE;
    if (level == LEVEL_FILE && number == FILE_ENUM)
        return LEVEL_LEAF;
    if (level == LEVEL_FILE && number == FILE_SERVICE)
        return LEVEL_SERVICE;
    if (level == LEVEL_MESSAGE && number == MESSAGE_NESTED)
        return LEVEL_MESSAGE;
    if ((level == LEVEL_MESSAGE && number == MESSAGE_ENUM) ||
        (level == LEVEL_SERVICE && number == SERVICE_METHOD))
        return LEVEL_LEAF;
    return LEVEL_FILE;
}

static void add_symbols(struct cw_descriptors *set, struct cw_descriptor_file *file, struct span in,
                        enum level level, const char *scope, int depth)
{
    struct cw_pb_field field;
    const uint8_t *p = in.data;
    while (depth < DEPTH_MAX && cw_pb_next(&p, in.data + in.n, &field)) {
        enum level below = child_level(level, field.number);
        if (field.type != CW_PB_BYTES || below == LEVEL_FILE)
            continue;
        struct span child = {field.data, (size_t)field.value};
        cw_autofree char *name = text_of(child, NAME);
        cw_autofree char *full =
            cw_mem_printf("%s%s%s", scope, scope[0] ? "." : "", name ? name : "");
        cw_strmap_set(&set->by_symbol, full, file);
        add_symbols(set, file, child, below, full, depth + 1);
    }
}

static void add_file(struct cw_descriptors *set, struct span in)
{
    CW_GROW(set->files, set->n, set->cap);
    char *name = text_of(in, FILE_NAME);
    set->files[set->n++] = (struct cw_descriptor_file){
        .name = name ? name : cw_mem_strdup(""), .data = in.data, .n = in.n};
}

void cw_descriptors_init(struct cw_descriptors *set, const void *p, size_t n)
{
    struct cw_pb_field field;
    const uint8_t *at = p, *end = at + n;
    *set = (struct cw_descriptors){0};
    while (cw_pb_next(&at, end, &field))
        if (field.number == SET_FILE && field.type == CW_PB_BYTES)
            add_file(set, (struct span){field.data, (size_t)field.value});
    for (size_t i = 0; i < set->n; i++) {
        struct span in = {set->files[i].data, set->files[i].n};
        cw_autofree char *package = text_of(in, FILE_PACKAGE);
        cw_strmap_set(&set->by_name, set->files[i].name, &set->files[i]);
        add_symbols(set, &set->files[i], in, LEVEL_FILE, package ? package : "", 0);
    }
}

void cw_descriptors_fini(struct cw_descriptors *set)
{
    for (size_t i = 0; i < set->n; i++)
        cw_mem_free(set->files[i].name);
    cw_mem_free(set->files);
    cw_strmap_fini(&set->by_name);
    cw_strmap_fini(&set->by_symbol);
    *set = (struct cw_descriptors){0};
}

static void add_once(size_t *files, size_t *n, size_t file)
{
    for (size_t i = 0; i < *n; i++)
        if (files[i] == file)
            return;
    files[(*n)++] = file;
}

size_t cw_descriptors_closure(const struct cw_descriptors *set,
                              const struct cw_descriptor_file *file, size_t *ret_files)
{
    size_t n = 0;
    add_once(ret_files, &n, (size_t)(file - set->files));
    for (size_t i = 0; i < n; i++) {
        const struct cw_descriptor_file *at = &set->files[ret_files[i]];
        struct cw_pb_field field;
        for (const uint8_t *p = at->data; cw_pb_next(&p, at->data + at->n, &field);) {
            if (field.number != FILE_DEPENDENCY || field.type != CW_PB_BYTES)
                continue;
            cw_autofree char *name = cw_mem_strndup((const char *)field.data, (size_t)field.value);
            const struct cw_descriptor_file *import = cw_strmap_get(&set->by_name, name);
            if (import)
                add_once(ret_files, &n, (size_t)(import - set->files));
        }
    }
    return n;
}
