/* SPDX-License-Identifier: Apache-2.0 */
/* Writes shards as chunks (docs/cache-format.md), in which the ids are the elements' numbers. The
 * operator `chunks` reads them. */
#include "base/mem.h"
#include "client/tool/shard/shard.h"
#include "format/chunk_rows.h"

struct tool_shard {
    struct cw_chunk_rows *rows;
};

static int check(const struct tool_shard_options *options, struct cw_err *err)
{
    (void)options;
    (void)err;
    return 0;
}

static struct tool_shard *begin(const struct tool_shard_options *options)
{
    struct tool_shard *shard = CW_NEW(struct tool_shard);
    const struct cw_chunk_head head = {.key = options->id, .spec = cw_spec_borrow(&options->spec)};
    shard->rows = cw_chunk_rows_new(cw_chunk_writer_new(&head, options->level), &options->spec,
                                    CW_CHUNK_FRAME_BYTES);
    return shard;
}

static int add(struct tool_shard *shard, uint64_t number, const struct cw_element *element,
               struct cw_err *err)
{
    return cw_chunk_rows_add(shard->rows, number, element, err);
}

static uint64_t bytes_of(const struct tool_shard *shard)
{
    return cw_chunk_rows_bytes(shard->rows);
}

static int finish(struct tool_shard *shard, const struct iovec **ret_parts, size_t *ret_parts_n,
                  struct cw_err *err)
{
    return cw_chunk_rows_finish(shard->rows, ret_parts, ret_parts_n, err);
}

static void discard(struct tool_shard *shard)
{
    if (!shard)
        return;
    cw_chunk_rows_free(shard->rows);
    cw_mem_free(shard);
}

const struct tool_shard_format tool_shard_chunks = {.name = "chunks",
                                                    .ext = "chunk",
                                                    .check = check,
                                                    .begin = begin,
                                                    .add = add,
                                                    .bytes = bytes_of,
                                                    .finish = finish,
                                                    .discard = discard};
