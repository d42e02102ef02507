/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of fibres, and going from one to another: by a few instructions on x86-64, by ucontext
 * elsewhere. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define GUARD_BYTES ((size_t)4096)

static struct sim_stack *idle;
static struct sim_stack *came_from; /* for the sanitizer: whose bounds the entered stack learns */

#ifdef __x86_64__
/* rdi: where to save the stack pointer, rsi: the one to go on with. What a call must keep is on
 * the stack. */
void sim_switch_sp(void **save, void *to);
__asm__(".text\n"
        ".globl sim_switch_sp\n"
        ".hidden sim_switch_sp\n"
        ".type sim_switch_sp,@function\n"
        "sim_switch_sp:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size sim_switch_sp,.-sim_switch_sp\n"
        ".section .note.GNU-stack,\"\",@progbits\n"
        ".text\n");

static void prepare(struct sim_stack *stack, void (*entry)(void))
{
    void **top = (void **)(void *)(stack->base + stack->bytes);

    *--top = NULL; /* where a return address would be: keeps the stack aligned at the entry */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--top = NULL;
    stack->sp = top;
}

static void go(struct sim_stack *from, struct sim_stack *to)
{
    sim_switch_sp(&from->sp, to->sp);
}
#else
#include <ucontext.h>

static void prepare(struct sim_stack *stack, void (*entry)(void))
{
    ucontext_t *context = stack->sp ? stack->sp : calloc(1, sizeof(*context));

    if (!context || getcontext(context) != 0)
        abort();
    context->uc_stack.ss_sp = stack->base;
    context->uc_stack.ss_size = stack->bytes;
    context->uc_link = NULL;
    makecontext(context, entry, 0);
    stack->sp = context;
}

static void go(struct sim_stack *from, struct sim_stack *to)
{
    if (!from->sp)
        from->sp = calloc(1, sizeof(ucontext_t));
    if (!from->sp || swapcontext(from->sp, to->sp) != 0)
        abort();
}
#endif

static struct sim_stack *make(void)
{
    struct sim_stack *stack = calloc(1, sizeof(*stack));
    char *p = mmap(NULL, SIM_STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (!stack || p == MAP_FAILED || mprotect(p, GUARD_BYTES, PROT_NONE) != 0) {
        perror("a fibre's stack");
        abort();
    }
    stack->base = p + GUARD_BYTES;
    stack->bytes = SIM_STACK_BYTES;
    return stack;
}

struct sim_stack *sim_stack_get(void (*entry)(void))
{
    struct sim_stack *stack = idle;

    if (stack)
        idle = stack->next;
    else
        stack = make();
#ifdef HAS_ASAN
    __asan_unpoison_memory_region(stack->base, stack->bytes);
#endif
    stack->fake_stack = NULL;
    prepare(stack, entry);
    return stack;
}

void sim_stack_put(struct sim_stack *stack)
{
    stack->next = idle;
    idle = stack;
}

void sim_stack_init_main(struct sim_stack *stack)
{
    memset(stack, 0, sizeof(*stack));
}

void sim_stack_entered(void)
{
#ifdef HAS_ASAN
    const void *bottom;
    size_t bytes;

    __sanitizer_finish_switch_fiber(NULL, &bottom, &bytes);
    if (came_from && !came_from->base) { /* the main stack's bounds are learned here */
        came_from->base = (char *)(uintptr_t)bottom;
        came_from->bytes = bytes;
    }
#endif
}

void sim_stack_switch(struct sim_stack *from, struct sim_stack *to, bool ends)
{
    came_from = from;
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(ends ? NULL : &from->fake_stack, to->base, to->bytes);
#else
    (void)ends;
#endif
    go(from, to);
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}
