/* SPDX-License-Identifier: Apache-2.0 */
/* cachew cache dump: prints what is in a chunk. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "cache/store/store.h"
#include "client/tool/view/tensor_text.h"
#include "client/tool/tool.h"
#include "format/chunk.h"
#include "format/record.h"

#define VALUES_SHOWN 12

struct dump {
    const char *what;
    struct cw_readable file;
    struct cw_chunk_index *index;
    bool json;
};

static uint64_t left_out(const struct cw_chunk_index *index)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < index->records_n; i++)
        n += index->records[i].bytes == CW_CHUNK_LEFT_OUT;
    return n;
}

/* ---- a whole chunk ---- */

struct totals {
    /* plain and stored are bytes; packed counts the compressed frames. */
    uint64_t plain, stored, packed;
};
static struct totals total_of(const struct cw_chunk_index *index)
{
    struct totals t = {0};
    for (uint32_t i = 0; i < index->frames_n; i++) {
        t.plain += index->frames[i].plain;
        t.stored += index->frames[i].stored;
        t.packed += index->frames[i].stored < index->frames[i].plain;
    }
    return t;
}

static void print_head(const struct dump *d)
{
    const struct cw_chunk_index *index = d->index;
    struct totals t = total_of(index);
    char key[CW_HASH_TEXT_BYTES];
    CW_STR_AUTO spec = {0};
    cw_hash_text(index->head.key, key);
    cw_spec_print(&index->head.spec, &spec);
    printf("chunk     %s\nkey       %s\nelements  %s\n", d->what, key, cw_str_text(&spec));
    printf("records   %u, ids %" PRIu64 " to %" PRIu64 ", %" PRIu64 " left out by filters\n",
           index->records_n, index->records[0].id, index->records[index->records_n - 1].id,
           left_out(index));
    printf("frames    %u, %" PRIu64 " packed; %" PRIu64 " bytes, stored as %" PRIu64 "\n",
           index->frames_n, t.packed, t.plain, t.stored);
    printf("file      %" PRIu64 " bytes\n", index->bytes);
}

static void print_frames(const struct cw_chunk_index *index)
{
    static const char *const heads[] = {"FRAME", "OFFSET", "STORED", "PLAIN", "XXH3-64"};
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (uint32_t i = 0; i < index->frames_n; i++) {
        const struct cw_chunk_frame *f = &index->frames[i];
        tool_table_add(&table, "%u", i);
        tool_table_add(&table, "%" PRIu64, f->offset);
        tool_table_add(&table, "%u", f->stored);
        tool_table_add(&table, "%u", f->plain);
        tool_table_add(&table, "%016" PRIx64, f->sum);
    }
    putchar('\n');
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_records(const struct cw_chunk_index *index)
{
    static const char *const heads[] = {"ID", "FRAME", "OFFSET", "BYTES"};
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (uint32_t i = 0; i < index->records_n; i++) {
        const struct cw_chunk_record *r = &index->records[i];
        tool_table_add(&table, "%" PRIu64, r->id);
        if (r->bytes == CW_CHUNK_LEFT_OUT) {
            tool_table_add(&table, "-");
            tool_table_add(&table, "-");
            tool_table_add(&table, "left out");
            continue;
        }
        tool_table_add(&table, "%u", r->frame);
        tool_table_add(&table, "%u", r->offset);
        tool_table_add(&table, "%u", r->bytes);
    }
    putchar('\n');
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_json(const struct dump *d)
{
    const struct cw_chunk_index *index = d->index;
    char key[CW_HASH_TEXT_BYTES];
    CW_STR_AUTO out = {0};
    cw_hash_text(index->head.key, key);
    cw_str_add(&out, "{\"chunk\":");
    cw_str_add_json(&out, d->what, strlen(d->what));
    cw_str_addf(&out, ",\"key\":\"%s\",\"bytes\":%" PRIu64 ",\"spec\":", key, index->bytes);
    tool_spec_json(&index->head.spec, &out);
    cw_str_add(&out, ",\"frames\":[");
    for (uint32_t i = 0; i < index->frames_n; i++) {
        const struct cw_chunk_frame *f = &index->frames[i];
        cw_str_addf(&out,
                    "%s{\"offset\":%" PRIu64 ",\"stored\":%u,\"plain\":%u,\"sum\":\"%016" PRIx64
                    "\"}",
                    i ? "," : "", f->offset, f->stored, f->plain, f->sum);
    }
    cw_str_add(&out, "],\"records\":[");
    for (uint32_t i = 0; i < index->records_n; i++) {
        const struct cw_chunk_record *r = &index->records[i];
        cw_str_addf(&out, "%s{\"id\":%" PRIu64, i ? "," : "", r->id);
        if (r->bytes == CW_CHUNK_LEFT_OUT)
            cw_str_add(&out, ",\"left_out\":true}");
        else
            cw_str_addf(&out, ",\"frame\":%u,\"offset\":%u,\"bytes\":%u}", r->frame, r->offset,
                        r->bytes);
    }
    cw_str_add(&out, "]}");
    puts(cw_str_text(&out));
}

/* ---- one record ---- */

static void print_element(const struct dump *d, uint64_t id, const struct cw_element *element)
{
    CW_STR_AUTO out = {0};
    if (d->json)
        cw_str_addf(&out, "{\"id\":%" PRIu64 ",\"fields\":[", id);
    for (size_t i = 0; i < element->n; i++) {
        if (i)
            cw_str_add_char(&out, d->json ? ',' : '\n');
        if (d->json)
            tool_tensor_json(&d->index->head.spec.fields[i], &element->fields[i], &out);
        else
            tool_tensor_print(&d->index->head.spec.fields[i], &element->fields[i], VALUES_SHOWN,
                              &out);
    }
    if (d->json)
        cw_str_add(&out, "]}");
    puts(cw_str_text(&out));
}

static int dump_record(const struct dump *d, uint64_t id, struct cw_err *err)
{
    const struct cw_chunk_record *record = cw_chunk_find(d->index, id);
    struct cw_buf *frame = NULL;
    struct cw_element element;
    if (!record)
        return cw_err_set(err, CW_E_NOT_FOUND, "%s: has no record %" PRIu64, d->what, id);
    if (record->bytes == CW_CHUNK_LEFT_OUT) {
        if (d->json)
            printf("{\"id\":%" PRIu64 ",\"left_out\":true}\n", id);
        else
            printf("left out by a filter\n");
        return 0;
    }
    int rc = cw_chunk_frame_load(&d->file, d->index, record->frame, &frame, err);
    if (rc < 0)
        return rc;
    rc = cw_record_decode(&d->index->head.spec, (char *)frame->data + record->offset, record->bytes,
                          &element, err);
    if (rc < 0)
        cw_err_wrap(err, "%s: id %" PRIu64, d->what, id);
    else
        print_element(d, id, &element);
    cw_buf_unref(frame);
    return rc;
}

/* ---- the store and the name of a chunk ---- */

static int dump_it(struct dump *d, const uint64_t *record, struct cw_err *err)
{
    d->file.name = d->what;
    int rc = cw_chunk_load(&d->file, &d->index, err);
    if (rc < 0)
        return rc;
    if (record) {
        rc = dump_record(d, *record, err);
    } else if (d->json) {
        print_json(d);
    } else {
        print_head(d);
        print_frames(d->index);
        print_records(d->index);
    }
    cw_chunk_index_free(d->index);
    return rc;
}

static int dump_file(struct dump *d, const uint64_t *record, struct cw_err *err)
{
    struct cw_io_file opened;
    int rc = cw_readable_open(d->what, &opened, &d->file, err);
    if (rc < 0)
        return rc;
    rc = dump_it(d, record, err);
    cw_io_close(&opened);
    return rc;
}

static int read_store(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_store_file_read(arg, offset, dst, n, err);
}

/* Splits URL/TENANT/KEY/FILE into the store's URL and the name, which are the last three parts; or
 * URL/FILE, if the chunk was materialized. */
static bool split_url(const char *text, char **ret_url, const char **ret_name)
{
    const char *name = text + strlen(text);
    struct cw_chunk_name says;
    for (int parts = 0; parts < 3 && name > text; parts++)
        for (name--; name > text && name[-1] != '/'; name--)
            ;
    if (name == text || !cw_chunk_name_parse(name, &says))
        name = strrchr(text, '/') ? strrchr(text, '/') + 1 : text;
    if (name == text)
        return false;
    *ret_url = cw_mem_strndup(text, (size_t)(name - text) - 1);
    *ret_name = name;
    return cw_store_url_check(*ret_url, NULL) == 0;
}

static int dump_stored(struct dump *d, const char *url, const char *name, const uint64_t *record,
                       struct cw_err *err)
{
    struct cw_store *store = NULL;
    struct cw_store_file *file = NULL;
    int rc = cw_store_open(url, &store, err);
    if (rc == 0)
        rc = cw_store_file_open(store, name, &file, &d->file.size, err);
    if (rc == 0) {
        d->file.read_at = read_store;
        d->file.arg = file;
        rc = dump_it(d, record, err);
    }
    cw_store_file_close(file);
    cw_store_close(store);
    return rc;
}

int tool_cache_dump(int argc, char **argv)
{
    struct dump d = {0};
    const char *record = NULL;
    uint64_t id = 0;
    cw_autofree char *url = NULL;
    const char *name = NULL;
    const struct cw_arg rows[] = {
        {"record", 'r', CW_ARG_STR, &record, "ID", "the tensors of this record only", 0, 0},
        TOOL_ROW_JSON(&d.json, "print one JSON object"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew cache dump",
        .usage = "FILE|STORE/NAME [options]",
        .about = "Shows a chunk: key, spec of its elements, frames and records; or the tensors of "
                 "one record.",
        .rows = rows,
        .tail = "examples:\n  cachew cache dump /data/photos/part-00000.chunk\n"
                "  cachew cache dump gluster://host/volume/cache/default/KEY/0-512-HASH.chunk "
                "--record 17\n",
    };
    const char *words[1];
    int code = 0;
    struct cw_err err = {0};
    if (!tool_parse_words(&spec, argc, argv, "which chunk?", words, 1, &code))
        return code;
    if (record && !cw_str_to_u64(record, &id))
        return tool_fail("option --record: \"%s\" is no id", record), TOOL_USAGE;
    d.what = words[0];
    if (split_url(d.what, &url, &name))
        return dump_stored(&d, url, name, record ? &id : NULL, &err) < 0 ? tool_fail_err(&err)
                                                                         : TOOL_OK;
    return dump_file(&d, record ? &id : NULL, &err) < 0 ? tool_fail_err(&err) : TOOL_OK;
}
