/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped chunks that break while they are used. The kernel raises SIGBUS where a page of a
 * mapping cannot be read, because the file was cut short or its disk fails, and the handler of
 * base/mapped.c puts zeros in the place of the whole mapping. In the last page of a file that
 * was cut there is no signal: the kernel itself puts zeros behind the new end. In all these
 * cases the last bytes of the file as it was, the end of the footer, are not there any more. So
 * whoever has used a record looks at them afterwards: if they are there, all that was read
 * before came from the file.
 *
 * This tells nothing of bytes that somebody wrote over in place: checksums do (frame_cache.c). */
#include <stdio.h>

#include "cache/record/record_state.h"
#include "cache/record/requests.h"

bool cw_intact_check(struct cw_cache_chunk *chunk)
{
    if (cw_chunk_is_intact(chunk))
        return true;
    cw_request_retire(chunk, CW_CACHE_DAMAGED, NULL);
    return false;
}

/* Reads the place from the store: the error of that read is the reason. */
void cw_intact_explain(struct cw_cache_chunk *chunk)
{
    struct cw_err err = {0};
    uint64_t at = chunk->index->bytes - 1;
    char text[sizeof(err.msg) + 80], byte;
    bool broken = cw_store_file_is_broken(chunk->file, &at);
    int rc = cw_store_file_read(chunk->file, at, &byte, 1, &err);

    if (rc != 0)
        snprintf(text, sizeof(text), "byte %llu of the mapped file cannot be read: %s",
                 (unsigned long long)at, err.msg);
    else if (broken)
        snprintf(text, sizeof(text),
                 "byte %llu of the mapped file could not be read when it was used, but can be now",
                 (unsigned long long)at);
    else
        snprintf(text, sizeof(text), "the end of the file was changed while it was mapped");
    chunk->why = cw_mem_strdup(text);
}
