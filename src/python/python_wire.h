/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between a worker and a child that runs a function (python_child.py has the same
 * structs). They go over a socket; what they tell of lies in memory that both have mapped. */
#ifndef CW_PYTHON_PYTHON_WIRE_H
#define CW_PYTHON_PYTHON_WIRE_H

#include <stdint.h>

#include "python/python_child.h"

#define CW_PYTHON_SOCKET 3
#define CW_PYTHON_MEMORY 4

enum cw_python_request_kind {
    CW_PYTHON_LOAD,   /* `room` bytes of JSON at the beginning of the memory: the function */
    CW_PYTHON_FIELDS, /* likewise: the names of the fields, and what has to come out */
    CW_PYTHON_CALL,   /* an element, whose fields follow */
    CW_PYTHON_SAME,   /* an element whose fields lie where those of the last one did */
    CW_PYTHON_ROOM    /* the memory has grown: the result may be written */
};
enum cw_python_answer_status {
    CW_PYTHON_KEEP,  /* the call has used `bytes` ns of CPU time */
    CW_PYTHON_DROP,  /* likewise */
    CW_PYTHON_ERROR, /* a text follows */
    CW_PYTHON_NEED,  /* the result needs `bytes` of memory */
    CW_PYTHON_ENDS   /* a text follows, and the child ends */
};

struct cw_python_field {
    uint32_t dtype, rank;
    uint64_t at, bytes; /* place in the memory */
    int64_t dims[CW_RANK_MAX];
};
struct cw_python_request {
    uint32_t kind, n;
    uint64_t seed;
    uint64_t map_bytes; /* size of the memory */
    uint64_t room;      /* where the result may begin; LOAD and FIELDS: length of the text */
    struct cw_python_field fields[CW_PYTHON_FIELDS_MAX];
};
/* Fields or a text follow; behind the fields the names, as JSON, if the result was to be found out. */
struct cw_python_answer {
    uint32_t status, n;
    uint64_t bytes;
};
#define CW_PYTHON_ANSWER_MAX 4096
_Static_assert(sizeof(struct cw_python_answer) +
                       CW_PYTHON_FIELDS_MAX * sizeof(struct cw_python_field) <=
                   CW_PYTHON_ANSWER_MAX / 2,
               "an answer has room for fields and their names");

#endif
