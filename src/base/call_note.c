/* SPDX-License-Identifier: Apache-2.0 */
#include "base/call_note.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BYTES 32768

static struct cw_call_page *page;
/* A thread whose own stack is full handles its signal here. */
static char stacks[CW_CALL_THREADS_MAX][STACK_BYTES];

/* Of a thread: its slot, and what it will call. */
static _Thread_local struct {
    struct cw_call_slot *slot;
    const char *job, *node;
    uint64_t epoch, item, element;
    bool has_item, has_element, no_slot;
    stack_t before; /* for signals, as who made the thread has set it: with a slot */
} mine;

struct cw_call_page *cw_call_page_new(void)
{
    void *p = mmap(NULL, sizeof(struct cw_call_page), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void cw_call_page_clear(struct cw_call_page *p)
{
    memset(p, 0, sizeof(*p));
}

/* The handler is left in place for one signal only, so the same happens again, and ends the process. */
static void on_deadly(int signum)
{
    (void)signum;
    if (page && mine.slot && atomic_load_explicit(&mine.slot->inside, memory_order_relaxed)) {
        uint32_t none = 0;
        atomic_compare_exchange_strong(&page->crashed, &none, (uint32_t)(mine.slot - page->v) + 1);
    }
}

void cw_call_page_use(struct cw_call_page *p)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    struct sigaction action = {.sa_handler = on_deadly,
                               .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
    page = p;
    for (size_t i = 0; i < CW_ARRAY_LEN(deadly); i++)
        (void)sigaction(deadly[i], &action, NULL);
}

void cw_call_page_process(uint64_t number)
{
    if (page)
        atomic_store(&page->process, number);
}

void cw_call_at_job(const char *job)
{
    mine.job = job;
    mine.node = NULL;
    mine.has_item = mine.has_element = false;
}

void cw_call_at_item(const char *job, uint64_t epoch, uint64_t item)
{
    cw_call_at_job(job);
    mine.epoch = epoch;
    mine.item = item;
    mine.has_item = true;
}

void cw_call_at_element(const char *node, uint64_t element)
{
    mine.node = node;
    mine.element = element;
    mine.has_element = true;
}

void cw_call_at_node(const char *node)
{
    mine.node = node;
    mine.has_element = false;
}

static struct cw_call_slot *take_slot(void)
{
    for (size_t i = 0; i < CW_CALL_THREADS_MAX; i++) {
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&page->v[i].taken, &none, 1))
            continue;
        const stack_t stack = {.ss_sp = stacks[i], .ss_size = STACK_BYTES};
        (void)sigaltstack(&stack, &mine.before);
        return &page->v[i];
    }
    mine.no_slot = true;
    return NULL;
}

static void copy(char *to, const char *from)
{
    const char *text = from ? from : "";
    if (strncmp(to, text, CW_CALL_NAME_BYTES - 1) != 0)
        snprintf(to, CW_CALL_NAME_BYTES, "%s", text);
}

void cw_call_enter(const char *op)
{
    if (!page || mine.no_slot)
        return;
    if (!mine.slot && !(mine.slot = take_slot()))
        return;
    struct cw_call_slot *slot = mine.slot;
    copy(slot->job, mine.job);
    copy(slot->node, mine.node);
    copy(slot->op, op);
    slot->epoch = mine.epoch;
    slot->item = mine.item;
    slot->element = mine.element;
    slot->has_item = mine.has_item;
    slot->has_element = mine.has_element;
    atomic_store_explicit(&slot->calls,
                          atomic_load_explicit(&slot->calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&slot->inside, 1, memory_order_release);
}

void cw_call_leave(void)
{
    if (!mine.slot)
        return;
    atomic_store_explicit(&mine.slot->inside, 0, memory_order_release);
}

void cw_call_thread_end(void)
{
    struct cw_call_slot *slot = mine.slot;
    if (!slot)
        return;
    (void)sigaltstack(&mine.before, NULL); /* a sanitizer frees what it finds there */
    mine.slot = NULL;
    atomic_store_explicit(&slot->taken, 0, memory_order_release);
}
