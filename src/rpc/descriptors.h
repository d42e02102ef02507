/* SPDX-License-Identifier: Apache-2.0 */
/* A FileDescriptorSet, to look files up in by name and by symbol. Borrows the bytes. */
#ifndef CW_RPC_DESCRIPTORS_H
#define CW_RPC_DESCRIPTORS_H

#include "base/map.h"

struct cw_descriptor_file {
    char *name;
    const uint8_t *data;
    size_t n;
};
struct cw_descriptors {
    struct cw_descriptor_file *files;
    size_t n, cap;
    struct cw_strmap by_name, by_symbol; /* to files */
};
void cw_descriptors_init(struct cw_descriptors *set, const void *p, size_t n);
void cw_descriptors_fini(struct cw_descriptors *set);
/* The file, then all that it imports, each once: indices into files; at most set->n. Returns how
 * many. */
size_t cw_descriptors_closure(const struct cw_descriptors *set,
                              const struct cw_descriptor_file *file, size_t *ret_files);

#endif
