/* SPDX-License-Identifier: Apache-2.0 */
/* Writers of chunks that compress. */
#include "codec/codec.h"
#include "format/chunk_int.h"

static const struct cw_chunk_packing packing = {.begin = cw_codec_packer_new,
                                                .end = cw_codec_packer_free,
                                                .bound = cw_codec_bound,
                                                .pack = cw_codec_pack_to};

struct cw_chunk_writer *cw_chunk_writer_new(const struct cw_chunk_head *head, int level)
{
    return cw_chunk_writer_new_by(head, &packing, level);
}
