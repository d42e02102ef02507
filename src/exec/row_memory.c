/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/row_memory.h"

#include <stdint.h>
#include "base/mem.h"
#include "exec/task.h"
#include "exec/thread_context.h"

#define ALIGN ((size_t)64)
/* A block has a part of what the item has so far, so that there are few of them and little of the last
 * ones stays unused. */
#define BLOCK_BYTES_MIN ((size_t)256 << 10)
#define BLOCK_BYTES_MAX ((size_t)16 << 20)
#define BLOCK_PART 4
/* What a plan keeps for its next items. */
#define SPARE_BYTES_MAX ((size_t)8 << 20)

struct cw_row_block {
    struct cw_row_block *next;
    size_t bytes, at; /* of the memory behind the head */
};
#define HEAD_BYTES CW_ALIGN_UP(sizeof(struct cw_row_block), ALIGN)

static uint8_t *memory_of(struct cw_row_block *block)
{
    return (uint8_t *)block + HEAD_BYTES;
}

/* ---- blocks ---- */

/* Takes the first block of a list that has room for so many bytes. */
static struct cw_row_block *take(struct cw_row_block **list, size_t bytes)
{
    struct cw_row_block **at = list;
    while (*at && (*at)->bytes - (*at)->at < bytes)
        at = &(*at)->next;
    struct cw_row_block *block = *at;
    if (block)
        *at = block->next;
    return block;
}

static struct cw_row_block *take_spare(struct cw_plan_exec *share, size_t bytes)
{
    cw_mutex_lock(&share->mutex);
    struct cw_row_block *block = take(&share->row_spare.blocks, bytes);
    if (block)
        share->row_spare.bytes -= block->bytes;
    cw_mutex_unlock(&share->mutex);
    return block;
}

static struct cw_row_block *block_new(size_t bytes)
{
    struct cw_row_block *block = cw_mem_try_aligned(ALIGN, HEAD_BYTES + bytes);
    if (block)
        *block = (struct cw_row_block){.bytes = bytes};
    return block;
}

/* Returns a block with room for so many bytes: of the item, of the plan, or a new one. */
static struct cw_row_block *open_block(struct cw_exec_task *task, size_t bytes)
{
    struct cw_row_memory *memory = &task->row_memory;
    cw_mutex_lock(&task->mutex);
    struct cw_row_block *block = take(&memory->open, bytes);
    size_t part = memory->bytes / BLOCK_PART;
    cw_mutex_unlock(&task->mutex);
    if (block)
        return block;
    block = take_spare(memory->share, bytes);
    if (!block) {
        part = CW_MIN(CW_MAX(part, BLOCK_BYTES_MIN), BLOCK_BYTES_MAX);
        block = block_new(CW_ALIGN_UP(CW_MAX(part, bytes), ALIGN));
    }
    if (!block)
        return NULL;
    cw_mutex_lock(&task->mutex);
    memory->bytes += block->bytes;
    cw_mutex_unlock(&task->mutex);
    return block;
}

/* The thread leaves its block, which has room or has not. */
static void leave_block(struct cw_exec_task *task, struct cw_thread_context *work, bool full)
{
    struct cw_row_block *block = work->row_block;
    if (!block)
        return;
    work->row_block = NULL;
    cw_mutex_lock(&task->mutex);
    struct cw_row_block **list = full ? &task->row_memory.used : &task->row_memory.open;
    block->next = *list;
    *list = block;
    cw_mutex_unlock(&task->mutex);
}

/* ---- memory ---- */

void *cw_row_memory_get(struct cw_exec_task *task, struct cw_thread_context *work, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = CW_ALIGN_UP(bytes, ALIGN);
    struct cw_row_block *block = work->row_block;
    if (!block || block->bytes - block->at < bytes) {
        leave_block(task, work, true);
        block = work->row_block = open_block(task, bytes);
    }
    if (!block)
        return NULL;
    void *p = memory_of(block) + block->at;
    block->at += bytes;
    return p;
}

void cw_row_memory_undo(struct cw_thread_context *work, const void *last)
{
    struct cw_row_block *block = work->row_block;
    if (block && last)
        block->at = (size_t)((const uint8_t *)last - memory_of(block));
}

void cw_row_memory_pause(struct cw_exec_task *task, struct cw_thread_context *work)
{
    leave_block(task, work, false);
}

static void free_list(struct cw_row_block *list)
{
    while (list) {
        struct cw_row_block *next = list->next;
        cw_mem_free(list);
        list = next;
    }
}

/* Gives blocks to the plan as long as it takes more. Returns the others. */
static struct cw_row_block *give(struct cw_row_block *list, struct cw_row_spare *spare)
{
    struct cw_row_block *left = NULL;
    while (list) {
        struct cw_row_block *block = list;
        list = block->next;
        bool fits = block->bytes <= SPARE_BYTES_MAX - spare->bytes;
        struct cw_row_block **to = fits ? &spare->blocks : &left;
        block->at = 0;
        block->next = *to;
        *to = block;
        spare->bytes += fits ? block->bytes : 0;
    }
    return left;
}

void cw_row_memory_fini(struct cw_row_memory *memory)
{
    struct cw_plan_exec *share = memory->share;
    if (!memory->used && !memory->open)
        return;
    cw_mutex_lock(&share->mutex);
    struct cw_row_block *used = give(memory->used, &share->row_spare);
    struct cw_row_block *open = give(memory->open, &share->row_spare);
    cw_mutex_unlock(&share->mutex);
    free_list(used);
    free_list(open);
    *memory = (struct cw_row_memory){0};
}

void cw_row_spare_fini(struct cw_row_spare *spare)
{
    free_list(spare->blocks);
    *spare = (struct cw_row_spare){0};
}
