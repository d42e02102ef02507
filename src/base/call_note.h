/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which foreign operator each thread is in, in memory that this process shares with its parent
 * (worker/plugin_parent.h). If the process dies or a call does not return, the parent reads there whose
 * operator it was. A process without such a page notes nothing. */
#ifndef CW_BASE_CALL_NOTE_H
#define CW_BASE_CALL_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include "base/compiler.h"

#define CW_CALL_THREADS_MAX 512
#define CW_CALL_NAME_BYTES 128

struct cw_call_slot {
    _Atomic uint32_t taken;
    _Atomic uint32_t inside; /* the thread is in a call */
    _Atomic uint64_t calls;  /* how many it has begun: the parent sees that they go on */
    bool has_item, has_element;
    uint64_t epoch, item, element;
    char job[CW_CALL_NAME_BYTES];  /* id; "": none is known */
    char node[CW_CALL_NAME_BYTES]; /* "": not known */
    char op[CW_CALL_NAME_BYTES];
};
struct cw_call_page {
    _Atomic uint64_t process; /* the number that the process has given itself */
    _Atomic uint32_t
        crashed; /* 1 + the slot of the thread that got a deadly signal in a call; 0: none */
    struct cw_call_slot v[CW_CALL_THREADS_MAX];
};

/* ---- in the parent ---- */
/* Makes a page that is shared with children. NULL: there is no memory. */
struct cw_call_page *cw_call_page_new(void);
void cw_call_page_clear(struct cw_call_page *page);

/* ---- in the child ---- */
/* From now on calls are noted in this page, and deadly signals in them. Before there are threads. */
void cw_call_page_use(struct cw_call_page *page);
/* Says by which number others know this process. */
void cw_call_page_process(uint64_t number);
/* Says for which job this thread works from now on (NULL: for none), and at which item of it. */
void cw_call_at_job(const char *job);
void cw_call_at_item(const char *job, uint64_t epoch, uint64_t item);
/* Says which node this thread calls next, for which element. */
void cw_call_at_element(const char *node, uint64_t element);
void cw_call_at_node(const char *node);
/* Surround a call of a foreign operator. */
void cw_call_enter(const char *op);
void cw_call_leave(void);
/* This thread ends: another one may have its slot. */
void cw_call_thread_end(void);

#endif
