/* SPDX-License-Identifier: Apache-2.0 */
/* Writes shards as tar files in WebDataset's form: the members of an element are KEY.FIELD.EXT,
 * where KEY is its number. Tensors become npy (NumPy format 1.0), strings bin, or what --ext says.
 * The extension cls of an integer scalar means its decimal digits. The format is ustar, and nothing
 * in it depends on the time or the user. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/shard/shard.h"
#include "client/tool/tensor_file.h"
#include "ops/kernels/num.h"

#define BLOCK_BYTES 512
#define EXT_MAX 16

struct tool_shard {
    const struct tool_shard_options *options;
    struct tool_bytes out;
    struct iovec part;
};

/* Returns the extension that --ext gives the field, or NULL. */
static const char *ext_given(const struct tool_shard_options *options, const char *field)
{
    size_t n = strlen(field);
    for (size_t i = 0; i < options->ext.n; i++)
        if (strncmp(options->ext.v[i], field, n) == 0 && options->ext.v[i][n] == '=')
            return options->ext.v[i] + n + 1;
    return NULL;
}

static bool is_class(const struct cw_field *field)
{
    return field->rank == 0 && field->dtype != CW_DTYPE_STR && !cw_dtype_is_float(field->dtype);
}

static int check_ext(const struct tool_shard_options *options, const char *given,
                     struct cw_err *err)
{
    const char *ext = strchr(given, '=');
    char name[CW_FIELD_NAME_BYTES] = {0};
    if (!ext || (size_t)(ext - given) >= sizeof(name) || strlen(ext + 1) == 0 ||
        strlen(ext + 1) > EXT_MAX || strpbrk(ext + 1, "/. \n"))
        return cw_err_set(err, CW_E_INVALID,
                          "option --ext: \"%s\" is not FIELD=EXT, such as image=jpg", given);
    memcpy(name, given, (size_t)(ext - given));
    int f = cw_spec_find(&options->spec, name);
    if (f < 0)
        return cw_err_set(err, CW_E_INVALID, "option --ext: there is no field \"%s\"", name);
    bool cls = strcmp(ext + 1, "cls") == 0;
    if (options->spec.fields[f].dtype != CW_DTYPE_STR &&
        !(cls && is_class(&options->spec.fields[f])) && strcmp(ext + 1, "npy") != 0)
        return cw_err_set(err, CW_E_INVALID,
                          "option --ext: field \"%s\": numbers are npy, or cls for an integer",
                          name);
    return 0;
}

static int check(const struct tool_shard_options *options, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < options->spec.n; i++)
        if (options->spec.fields[i].dtype == CW_DTYPE_STR && options->spec.fields[i].rank > 0)
            return cw_err_set(err, CW_E_UNSUPPORTED,
                              "field \"%s\": tar files cannot hold lists of strings: make texts of "
                              "them (join_text), and leave --keep-batches out",
                              options->spec.fields[i].name);
    for (size_t i = 0; i < options->ext.n && rc == 0; i++)
        rc = check_ext(options, options->ext.v[i], err);
    return rc;
}

static struct tool_shard *begin(const struct tool_shard_options *options)
{
    struct tool_shard *shard = CW_NEW(struct tool_shard);
    shard->options = options;
    return shard;
}

/* Writes octal digits and a NUL. */
static void put_octal(char *at, size_t n, uint64_t v)
{
    at[--n] = '\0';
    while (n > 0) {
        at[--n] = (char)('0' + (v & 7));
        v >>= 3;
    }
}

static void fill_header(char header[BLOCK_BYTES], const char *name, uint64_t bytes)
{
    unsigned sum = 0;
    memset(header, 0, BLOCK_BYTES);
    memcpy(header, name, strlen(name));
    put_octal(header + 100, 8, 0644);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_octal(header + 124, 12, bytes);
    put_octal(header + 136, 12, 0);
    memset(header + 148, ' ', 8); /* The checksum is computed with blanks in its own place. */
    header[156] = '0';
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        sum += (unsigned char)header[i];
    put_octal(header + 148, 7, sum);
}

/* Writes head and data as one member. */
static int put_member(struct tool_shard *shard, const char *name, const void *head, size_t head_n,
                      const void *data, size_t n, struct cw_err *err)
{
    char header[BLOCK_BYTES];
    fill_header(header, name, head_n + n);
    int rc = tool_bytes_add(&shard->out, header, sizeof(header), err);
    if (rc == 0)
        rc = tool_bytes_add(&shard->out, head, head_n, err);
    if (rc == 0)
        rc = tool_bytes_add(&shard->out, data, n, err);
    return rc < 0 ? rc
                  : tool_bytes_add(&shard->out, NULL,
                                   (BLOCK_BYTES - (head_n + n) % BLOCK_BYTES) % BLOCK_BYTES, err);
}

static int put_field(struct tool_shard *shard, uint64_t number, const struct cw_field *field,
                     const struct cw_view *view, struct cw_err *err)
{
    const char *given = ext_given(shard->options, field->name);
    const char *ext = given ? given : field->dtype == CW_DTYPE_STR ? "bin" : "npy";
    CW_STR_AUTO head = {0};
    char name[100];
    snprintf(name, sizeof(name), "%09llu.%s.%s", (unsigned long long)number, field->name, ext);
    if (field->dtype == CW_DTYPE_STR)
        return put_member(shard, name, NULL, 0, view->data, view->bytes, err);
    if (strcmp(ext, "cls") == 0) {
        cw_str_addf(&head, "%lld", (long long)cw_num_get_i64(view->dtype, view->data, 0));
        return put_member(shard, name, head.s, head.len, NULL, 0, err);
    }
    tool_npy_head(view, &head);
    return put_member(shard, name, head.s, head.len, view->data, view->bytes, err);
}

static int add(struct tool_shard *shard, uint64_t number, const struct cw_element *element,
               struct cw_err *err)
{
    const struct cw_spec *spec = &shard->options->spec;
    int rc = 0;
    for (size_t i = 0; i < spec->n && rc == 0; i++)
        rc = put_field(shard, number, &spec->fields[i], &element->fields[i], err);
    return rc;
}

static uint64_t bytes_of(const struct tool_shard *shard)
{
    return shard->out.n;
}

static int finish(struct tool_shard *shard, const struct iovec **ret_parts, size_t *ret_parts_n,
                  struct cw_err *err)
{
    int rc = tool_bytes_add(&shard->out, NULL, (size_t)2 * BLOCK_BYTES, err);
    shard->part = (struct iovec){shard->out.p, shard->out.n};
    *ret_parts = &shard->part;
    *ret_parts_n = 1;
    return rc;
}

static void discard(struct tool_shard *shard)
{
    if (!shard)
        return;
    tool_bytes_fini(&shard->out);
    cw_mem_free(shard);
}

const struct tool_shard_format tool_shard_tar = {.name = "tar",
                                                 .ext = "tar",
                                                 .check = check,
                                                 .begin = begin,
                                                 .add = add,
                                                 .bytes = bytes_of,
                                                 .finish = finish,
                                                 .discard = discard};
