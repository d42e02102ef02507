/* SPDX-License-Identifier: Apache-2.0 */
/* Every .proto of this folder as one serialized FileDescriptorSet: what server reflection
 * answers with. */
#ifndef CW_PROTO_DESCRIPTORS_H
#define CW_PROTO_DESCRIPTORS_H

#include <stddef.h>

extern const unsigned char cw_proto_descriptors[];
extern const size_t cw_proto_descriptors_n;

#endif
