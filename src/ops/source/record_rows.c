/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/record_rows.h"

/* The index is asked for the place of a record while others before it are read. */
enum { FAR = 8 };

static void leave(struct cw_record_rows *rows, struct cw_record_seat *seat)
{
    if (!seat->loaded)
        return;
    cw_file_set_release(rows->source->files, &seat->use);
    cw_file_source_put(rows->source, seat->file);
    seat->loaded = NULL;
}

static int take(struct cw_record_rows *rows, struct cw_record_seat *seat, size_t file)
{
    const void *loaded = NULL;
    leave(rows, seat);
    int rc = cw_file_source_get(rows->source, file, &loaded, NULL);
    if (rc < 0)
        return rc;
    seat->parts = rows->parts(loaded);
    rc = cw_file_source_compare(rows->source, file, cw_line_index_n(seat->parts.index), "records",
                                NULL);
    if (rc == 0)
        rc = cw_file_set_use(rows->source->files, file, &seat->use, NULL);
    if (rc < 0) {
        cw_file_source_put(rows->source, file);
        return rc;
    }
    seat->view = (struct cw_inflated_view){rows->inflated, file, seat->parts.points,
                                           &seat->use.readable, &seat->use.source};
    seat->readable = cw_inflated_readable(&seat->view);
    seat->file = file;
    seat->loaded = loaded;
    return 0;
}

static void ask_for(const struct cw_record_rows *rows, int64_t pos)
{
    const struct cw_file_set *files = rows->source->files;
    const size_t file = cw_file_set_locate(files, pos);
    const struct cw_record_seat *seat = &rows->seats[file % CW_RECORD_SEATS];
    if (seat->loaded && seat->file == file)
        cw_line_index_prefetch(seat->parts.index, (uint64_t)(pos - files->v[file].first));
}

int cw_record_rows_find(struct cw_record_rows *rows, size_t i, struct cw_record_place *ret_place)
{
    const struct cw_file_set *files = rows->source->files;
    const size_t file = cw_file_set_locate(files, rows->positions[i]);
    const uint64_t k = (uint64_t)(rows->positions[i] - files->v[file].first);
    struct cw_record_seat *seat = &rows->seats[file % CW_RECORD_SEATS];
    if (!seat->loaded || seat->file != file) {
        int rc = take(rows, seat, file);
        if (rc < 0)
            return rc;
    }
    if (i + FAR < rows->n)
        ask_for(rows, rows->positions[i + FAR]);
    const uint64_t begin = cw_line_index_at(seat->parts.index, k);
    *ret_place =
        (struct cw_record_place){seat, begin, cw_line_index_at(seat->parts.index, k + 1) - begin};
    return ret_place->bytes <= rows->record_max ? 0 : CW_E_LIMIT;
}

int cw_record_rows_read(const struct cw_record_place *place, void *dst)
{
    return cw_readable_get(&place->seat->readable, place->begin, dst, (size_t)place->bytes, NULL);
}

int cw_record_rows_bytes(struct cw_record_rows *rows, uint64_t least, uint64_t *ret_bytes)
{
    struct cw_record_place place;
    *ret_bytes = 0;
    for (size_t i = 0; i < rows->n; i++) {
        int rc = cw_record_rows_find(rows, i, &place);
        if (rc < 0 || place.bytes < least)
            return rc < 0 ? rc : CW_E_CORRUPT;
        *ret_bytes += place.bytes;
    }
    return 0;
}

size_t cw_record_rows_run(const struct cw_record_rows *rows, size_t i, uint64_t most,
                          struct cw_record_place *place)
{
    const struct cw_file *file = &rows->source->files->v[place->seat->file];
    const struct cw_line_index *index = place->seat->parts.index;
    size_t n = 1;
    if (cw_file_set_can_ahead(rows->source->files))
        return 1;
    for (; i + n < rows->n && rows->positions[i + n] == rows->positions[i] + (int64_t)n; n++) {
        const uint64_t k = (uint64_t)(rows->positions[i + n] - file->first);
        const uint64_t end =
            k < cw_line_index_n(index) ? cw_line_index_at(index, k + 1) : UINT64_MAX;
        if (end - place->begin > most || end - place->begin - place->bytes > rows->record_max)
            break;
        place->bytes = end - place->begin;
    }
    return n;
}

void cw_record_rows_end(struct cw_record_rows *rows)
{
    for (size_t i = 0; i < CW_RECORD_SEATS; i++)
        leave(rows, &rows->seats[i]);
}
