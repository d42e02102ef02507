/* SPDX-License-Identifier: Apache-2.0 */
/* An index of a FileDescriptorSet: finds a file by its name or by a symbol that it defines. It
 * points into the serialized set, which must outlive it. */
#ifndef CW_RPC_DESCRIPTORS_H
#define CW_RPC_DESCRIPTORS_H

#include "base/map.h"

struct cw_descriptor_file {
    char *name;
    const uint8_t *data; /* its serialized FileDescriptorProto */
    size_t n;
};
struct cw_descriptors {
    struct cw_descriptor_file *files;
    size_t n, cap;
    struct cw_strmap by_name, by_symbol; /* values point into `files` */
};
void cw_descriptors_init(struct cw_descriptors *set, const void *p, size_t n);
void cw_descriptors_fini(struct cw_descriptors *set);
/* Lists the file and then all files that it imports, directly or not, each once. Writes indices
 * into set->files to ret_files, which has room for set->n, and returns how many. */
size_t cw_descriptors_closure(const struct cw_descriptors *set,
                              const struct cw_descriptor_file *file, size_t *ret_files);

#endif
