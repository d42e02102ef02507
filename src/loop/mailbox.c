/* SPDX-License-Identifier: Apache-2.0 */
/* A loop's mailbox. Threads that post push onto a lock-free stack, and wake the loop only if it was
 * empty; whoever runs the calls takes the whole stack and reverses it, so calls run in the order in
 * which they were posted. */
#include "loop/loop_int.h"

bool cw_loop_push(struct cw_loop *loop, struct cw_loop_node *node)
{
    struct cw_loop_node *head = atomic_load_explicit(&loop->posted, memory_order_relaxed);

    do
        node->next = head;
    while (!atomic_compare_exchange_weak_explicit(&loop->posted, &head, node, memory_order_release,
                                                  memory_order_relaxed));
    return head == NULL;
}

bool cw_loop_run_posted(struct cw_loop *loop)
{
    struct cw_loop_node *stack =
        atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire);
    struct cw_loop_node *queue = NULL;

    while (stack) {
        struct cw_loop_node *next = stack->next;
        stack->next = queue;
        queue = stack;
        stack = next;
    }
    bool any = queue != NULL;
    while (queue) {
        struct cw_loop_node *node = queue;
        /* read before fn is called, since the node may be freed or posted again by it */
        queue = node->next;
        if (node != &loop->gather_node) {
            cw_loop_touch(loop);
            loop->posted_n++;
        }
        node->fn(node->arg);
    }
    return any;
}

void cw_loop_end_iteration(struct cw_loop *loop)
{
    if (!loop->something_ran)
        return;
    loop->something_ran = false;
    if (loop->iteration_end)
        loop->iteration_end(loop->iteration_end_arg);
}
