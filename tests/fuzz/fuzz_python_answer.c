/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a child that does not keep to the protocol: what is taken for a field can be read whole. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "python/python_answer.h"

#define MAP_BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cw_python_reply reply;
    static char names[CW_PYTHON_ANSWER_MAX];
    struct cw_view fields[CW_FIELDS_MAX];
    size_t n = 0;
    unsigned sum = 0;
    unsigned char *map = calloc(1, MAP_BYTES); /* with nothing behind it */
    reply.n = CW_MIN(size, sizeof(reply.u));
    memset(&reply.u, 0, sizeof(reply.u));
    memcpy(&reply.u, data, reply.n);
    if (cw_python_answer_fields(&reply, map, MAP_BYTES, fields, &n)) {
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < fields[i].bytes; k++)
                sum += ((unsigned char *)fields[i].data)[k];
        cw_python_answer_names(&reply, names, sizeof(names));
        if (strlen(names) >= sizeof(names) || sum != 0) /* the memory is zeroed */
            abort();
    }
    free(map);
    return 0;
}
