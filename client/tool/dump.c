/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/dump.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/model/trainer_batch.h"
#include "client/tool/tensor_file.h"
#include "data/ragged.h"

struct dump {
    const char *dir;
    const struct tool_rebuilt *rebuilt;
    struct tool_dump_sum sum;
    struct cw_str index; /* The list of files as JSON. */
    int64_t element;     /* The element that is being written; -2 if there is none yet. */
    size_t step;         /* The number of the element's results that were written. */
};
/* Where a file's data come from, for its name and for the index. */
struct tensor {
    int64_t element; /* The number of the element; -1 if the data are those of the whole batch. */
    const char *node, *op; /* The node and its operator; NULL if the data are the batch itself. */
    const struct cw_field *field;
    const struct cw_view *view;
    const char *stem; /* The path below dir, without the extension. */
    bool plain;       /* It is no picture, whatever its shape. */
};

static void note_file(struct dump *dump, const struct tensor *tensor, const char *ext,
                      const double *range)
{
    struct cw_str *out = &dump->index;
    cw_str_addf(out, "%s\n{\"file\":", dump->sum.files++ ? "," : "");
    cw_autofree char *file = cw_mem_printf("%s.%s", tensor->stem, ext);
    cw_str_add_json(out, file, strlen(file));
    if (tensor->element >= 0) {
        const char *source = dump->rebuilt->rows[tensor->element].source;
        cw_str_addf(out, ",\"element\":%" PRId64 ",\"source\":", tensor->element);
        cw_str_add_json(out, source, strlen(source));
    }
    if (tensor->node) {
        cw_str_add(out, ",\"node\":");
        cw_str_add_json(out, tensor->node, strlen(tensor->node));
        cw_str_addf(out, ",\"op\":\"%s\"", tensor->op);
    }
    cw_str_add(out, ",\"field\":");
    cw_str_add_json(out, tensor->field->name, strlen(tensor->field->name));
    cw_str_addf(out, ",\"dtype\":\"%s\",\"shape\":[", cw_dtype_name(tensor->view->dtype));
    for (int d = 0; d < tensor->view->rank; d++)
        cw_str_addf(out, "%s%" PRId64, d ? "," : "", tensor->view->dims[d]);
    cw_str_add(out, "]");
    if (range) {
        cw_str_add(out, ",\"black\":");
        cw_str_add_f64(out, range[0]);
        cw_str_add(out, ",\"white\":");
        cw_str_add_f64(out, range[1]);
    }
    cw_str_add(out, "}");
}

static int write_image(struct dump *dump, const struct tensor *tensor, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/%s.png", dump->dir, tensor->stem);
    double range[2] = {0, 255};
    bool floats = tensor->view->dtype == CW_DTYPE_F32;
    int rc = tool_write_png(path, tensor->view, &range[0], &range[1], err);
    if (rc < 0)
        return rc;
    dump->sum.scaled = dump->sum.scaled || floats;
    note_file(dump, tensor, "png", floats ? range : NULL);
    return 0;
}

static int write_tensor(struct dump *dump, const struct tensor *tensor, struct cw_err *err)
{
    const struct cw_view *view = tensor->view;
    const char *ext = view->dtype == CW_DTYPE_STR ? "bin" : "npy";
    bool image = tensor->node && !tensor->plain && tool_is_image(view);
    int rc = image ? write_image(dump, tensor, err) : 0;
    if (rc < 0 || (image && view->dtype == CW_DTYPE_U8))
        return rc;
    cw_autofree char *path = cw_mem_printf("%s/%s.%s", dump->dir, tensor->stem, ext);
    if (view->dtype == CW_DTYPE_STR)
        rc = tool_write_bytes(path, view->data, view->bytes, err);
    else
        rc = tool_write_npy(path, view, err);
    if (rc == 0)
        note_file(dump, tensor, ext, NULL);
    return rc;
}

/* Writes the values of a ragged batch, where its rows begin, and their shapes. No field has such a
 * name: none has an @ in it. */
static int write_ragged(struct dump *dump, const struct tensor *tensor,
                        const struct cw_ragged_parts *parts, struct cw_err *err)
{
    cw_autofree char *begins = cw_mem_printf("%s@begins", tensor->stem),
                     *shapes = cw_mem_printf("%s@shapes", tensor->stem);
    const struct {
        const struct cw_view *view;
        const char *stem;
    } files[] = {
        {&parts->values, tensor->stem}, {&parts->begins, begins}, {&parts->shapes, shapes}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(files); i++) {
        struct tensor part = *tensor;
        part.view = files[i].view;
        part.stem = files[i].stem;
        part.plain = true;
        rc = part.view->data ? write_tensor(dump, &part, err) : 0;
    }
    return rc;
}

/* Writes what a field came to, whatever form it has. */
static int write_field(struct dump *dump, const struct tensor *tensor, struct cw_err *err)
{
    struct cw_field field = {.dtype = tensor->view->dtype, .rank = tensor->view->rank};
    struct cw_ragged_parts parts;
    memcpy(field.dims, tensor->view->dims, sizeof field.dims);
    if (cw_ragged_split(&field, tensor->view->data, tensor->view->bytes, &parts) == 0)
        return write_ragged(dump, tensor, &parts, err);
    return write_tensor(dump, tensor, err);
}

static int make_dir(const char *path, struct cw_err *err)
{
    return mkdir(path, 0777) < 0 && errno != EEXIST ? cw_err_errno(err, errno, "%s", path) : 0;
}

/* Adds a node's name, with characters replaced that a file's name should not have. */
static void add_name(struct cw_str *out, const char *name)
{
    for (; *name; name++)
        cw_str_add_char(out, isalnum((unsigned char)*name) || strchr("_-.", *name) ? *name : '_');
}

static int on_result(void *arg, int64_t i, const struct cw_node *node, const struct cw_spec *spec,
                     const struct cw_element *element, struct cw_err *err)
{
    struct dump *dump = arg;
    CW_STR_AUTO folder = {0};
    if (i < 0)
        cw_str_add(&folder, "batch");
    else
        cw_str_addf(&folder, "element%03" PRId64, i);
    if (i != dump->element) {
        cw_autofree char *path = cw_mem_printf("%s/%s", dump->dir, cw_str_text(&folder));
        int rc = make_dir(path, err);
        if (rc < 0)
            return rc;
        dump->element = i;
        dump->step = 0;
    }
    int rc = 0;
    for (size_t f = 0; rc == 0 && f < element->n && f < spec->n; f++) {
        CW_STR_AUTO stem = {0};
        cw_str_addf(&stem, "%s/%02zu_", cw_str_text(&folder), dump->step);
        add_name(&stem, node->name);
        if (element->n > 1) {
            cw_str_add_char(&stem, '.');
            add_name(&stem, spec->fields[f].name);
        }
        struct tensor tensor = {
            i,    node->name, node->op, &spec->fields[f], &element->fields[f], cw_str_text(&stem),
            false};
        rc = write_field(dump, &tensor, err);
    }
    dump->step++;
    return rc;
}

/* Writes the tensors of the batch as they are delivered. */
static int write_batch(struct dump *dump, struct cw_err *err)
{
    const struct cw_batch *batch = dump->rebuilt->batch->data;
    cw_autofree char *path = cw_mem_printf("%s/batch", dump->dir);
    int rc = make_dir(path, err);
    for (size_t i = 0; rc == 0 && i < batch->n; i++) {
        const struct cw_tensor *from = &batch->tensors[i];
        void *data = batch->buf ? (char *)batch->buf->data + from->offset : NULL;
        struct cw_view view = {.data = data,
                               .bytes = from->bytes,
                               .dtype = from->field.dtype,
                               .rank = from->field.rank};
        memcpy(view.dims, from->field.dims, sizeof view.dims);
        CW_STR_AUTO stem = {0};
        cw_str_add(&stem, "batch/");
        add_name(&stem, from->field.name);
        struct tensor tensor = {-1, NULL, NULL, &from->field, &view, cw_str_text(&stem), false};
        rc = write_field(dump, &tensor, err);
    }
    return rc;
}

static int write_index(struct dump *dump, const char *recipe, const char *digest,
                       struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_autofree char *path = cw_mem_printf("%s/index.json", dump->dir);
    cw_str_addf(&text, "{\"recipe\":\"%s\",\"digest\":\"%s\",\"elements\":%zu,\"files\":[%s\n]}\n",
                recipe, digest, dump->rebuilt->rows_n, cw_str_text(&dump->index));
    return tool_write_bytes(path, cw_str_text(&text), text.len, err);
}

int tool_dump(const char *dir, struct cw_plan *plan, const struct tool_rebuilt *rebuilt,
              const char *recipe, const char *digest, struct tool_dump_sum *ret_sum,
              struct cw_err *err)
{
    struct dump dump = {.dir = dir, .rebuilt = rebuilt, .element = -2};
    if (rmdir(dir) < 0 && errno == ENOTEMPTY)
        return cw_err_set(err, CW_E_EXISTS, "%s is not empty: give a new directory", dir);
    int rc = make_dir(dir, err);
    if (rc == 0)
        rc = tool_rebuilt_trace(plan, rebuilt->batch->epoch, rebuilt, on_result, &dump, err);
    if (rc == 0)
        rc = write_batch(&dump, err);
    if (rc == 0)
        rc = write_index(&dump, recipe, digest, err);
    cw_str_fini(&dump.index);
    *ret_sum = dump.sum;
    return rc;
}
