// SPDX-License-Identifier: Apache-2.0
// Operators of one's own in C++: mylab.words counts the words of a text and leaves short texts out,
// mylab.lines is a source of the lines of a file, mylab.every takes each n-th element, and mylab.chunks
// puts the rows of an item together.
#include <cachew/op.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <vector>

namespace
{

const cachew_op_engine *engine;

// No exception may leave an operator.
template <typename F> int guarded(cachew_op_error *error, F body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return engine->fail(error, CACHEW_OP_NOMEM, "no memory");
    } catch (const std::exception &e) {
        return engine->fail(error, CACHEW_OP_INVALID, "%s", e.what());
    }
}

cachew_op_option option(const char *name, const char *help, int type, size_t offset,
                        const char *def)
{
    cachew_op_option row = {};
    row.struct_size = sizeof(row);
    row.name = name;
    row.help = help;
    row.type = type;
    row.offset = offset;
    row.def = def;
    return row;
}

int add_field(cachew_op_spec *spec, const char *name, int dtype, cachew_op_error *error,
              int rank = 0, int64_t dim = 0)
{
    cachew_op_field field = {};
    field.struct_size = sizeof(field);
    field.name = name;
    field.dtype = dtype;
    field.rank = rank;
    field.dims[0] = dim;
    return engine->spec_add(spec, &field, error);
}

// ---- mylab.words: a whole element comes in, another one comes out, or none ----

struct words_opts {
    int64_t least;
};

int words_infer(const void *, const cachew_op_spec *in, cachew_op_spec *out, cachew_op_error *error)
{
    int i = engine->spec_find(in, "text");
    if (i < 0)
        return engine->fail(error, CACHEW_OP_INVALID, "there is no field \"text\"");
    int rc = add_field(out, "text", CACHEW_OP_STR, error);
    return rc < 0 ? rc : add_field(out, "words", CACHEW_OP_I64, error);
}

int words_apply(const cachew_op_call *call, const cachew_op_element *in, cachew_op_element *out,
                cachew_op_error *error)
{
    const words_opts *opts = static_cast<const words_opts *>(call->opts);
    const cachew_op_view *text = in->fields[engine->spec_find(call->in, "text")];
    const char *s = static_cast<const char *>(text->data);
    int64_t words = 0;
    for (size_t i = 0; i < text->bytes; i++)
        words += s[i] != ' ' && (i == 0 || s[i - 1] == ' ');
    if (words < opts->least)
        return 1; // it is left out
    cachew_op_view *count = out->fields[1];
    count->dtype = CACHEW_OP_I64;
    count->rank = 0;
    int rc = engine->output(call, count, error);
    if (rc == 0)
        std::memcpy(count->data, &words, sizeof(words));
    return rc; // out->fields[0], the text, is that which came in
}

// ---- mylab.lines: a source ----

struct lines_opts {
    const char *path;
};
struct lines_state {
    std::vector<std::string> lines;
    std::string manifest, path;
};

int lines_infer(const void *, const cachew_op_spec *, cachew_op_spec *out, cachew_op_error *error)
{
    return add_field(out, "text", CACHEW_OP_STR, error);
}

int lines_open(const cachew_op_open *open, void **ret_state, cachew_op_error *error)
{
    return guarded(error, [&] {
        const char *path = static_cast<const lines_opts *>(open->opts)->path;
        std::ifstream file(path);
        if (!file)
            return engine->fail(error, CACHEW_OP_NOT_FOUND, "cannot read %s", path);
        lines_state state;
        size_t bytes = 0;
        for (std::string line; std::getline(file, line); state.lines.push_back(line))
            bytes += line.size();
        state.path = path;
        state.manifest = std::to_string(state.lines.size()) + " lines, " + std::to_string(bytes);
        if (open->manifest && state.manifest != open->manifest)
            return engine->fail(error, CACHEW_OP_INVALID,
                                "%s has other lines than when the job began", path);
        *ret_state = new lines_state(std::move(state));
        return 0;
    });
}

void lines_close(void *state)
{
    delete static_cast<lines_state *>(state);
}

int lines_count(const void *, void *state, const int64_t *, size_t, int64_t *ret_n,
                cachew_op_error *)
{
    *ret_n = static_cast<int64_t>(static_cast<lines_state *>(state)->lines.size());
    return 0;
}

int lines_read(const cachew_op_call *call, int64_t pos, cachew_op_element *out,
               cachew_op_error *error)
{
    const std::string &line =
        static_cast<lines_state *>(call->state)->lines[static_cast<size_t>(pos)];
    cachew_op_view *text = out->fields[0];
    text->dtype = CACHEW_OP_STR;
    text->bytes = line.size();
    int rc = engine->output(call, text, error);
    if (rc == 0 && !line.empty())
        std::memcpy(text->data, line.data(), line.size());
    return rc;
}

const char *lines_manifest(const void *, void *state)
{
    return static_cast<lines_state *>(state)->manifest.c_str();
}

void lines_describe(const void *, void *state, int64_t pos, char *text, size_t bytes)
{
    std::snprintf(text, bytes, "%s line %lld", static_cast<lines_state *>(state)->path.c_str(),
                  static_cast<long long>(pos) + 1);
}

// ---- mylab.every: an index operator ----

struct every_opts {
    int64_t n;
};

int every_count(const void *opts, void *, const int64_t *in_n, size_t, int64_t *ret_n,
                cachew_op_error *)
{
    int64_t n = static_cast<const every_opts *>(opts)->n;
    *ret_n = (in_n[0] + n - 1) / n;
    return 0;
}

int64_t every_map(const cachew_op_at *, const void *opts, void *, int64_t pos, size_t *)
{
    return pos * static_cast<const every_opts *>(opts)->n;
}

// ---- mylab.chunks: a group operator, inside items ----

struct chunks_opts {
    int64_t bytes, span;
};

int chunks_infer(const void *, const cachew_op_spec *in, cachew_op_spec *out,
                 cachew_op_error *error)
{
    if (engine->spec_find(in, "text") < 0)
        return engine->fail(error, CACHEW_OP_INVALID, "there is no field \"text\"");
    return add_field(out, "text", CACHEW_OP_STR, error);
}

// Makes an element of the rows [first, last), with a line end behind each.
int make_chunk(const cachew_op_call *call, const cachew_op_rows *rows, int field, size_t first,
               size_t last, size_t bytes, cachew_op_error *error)
{
    cachew_op_view view = {};
    view.struct_size = sizeof(view);
    view.dtype = CACHEW_OP_STR;
    view.bytes = bytes;
    char *to = static_cast<char *>(engine->memory(call, bytes, error));
    if (!to)
        return CACHEW_OP_NOMEM;
    view.data = to;
    for (size_t i = first; i < last; i++) {
        const cachew_op_view *text = rows->row[i]->fields[field];
        if (text->bytes > 0)
            std::memcpy(to, text->data, text->bytes);
        to += text->bytes;
        *to++ = '\n';
    }
    cachew_op_view *fields[] = {&view};
    cachew_op_element element = {};
    element.struct_size = sizeof(element);
    element.n = 1;
    element.fields = fields;
    return engine->make(call, rows, first, &element, error);
}

int chunks_inside(const cachew_op_call *call, const cachew_op_rows *rows, cachew_op_error *error)
{
    const size_t most = static_cast<size_t>(static_cast<const chunks_opts *>(call->opts)->bytes);
    const int field = engine->spec_find(call->in, "text");
    size_t first = 0, bytes = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < rows->n; i++) {
        const size_t more = rows->row[i]->fields[field]->bytes + 1;
        if (bytes > 0 && bytes + more > most) {
            rc = make_chunk(call, rows, field, first, i, bytes, error);
            first = i;
            bytes = 0;
        }
        bytes += more;
    }
    return rc == 0 && bytes > 0 ? make_chunk(call, rows, field, first, rows->n, bytes, error) : rc;
}

// ---- the tables ----

cachew_op operator_of(const char *name, int kind, const char *summary, const cachew_op_option *rows,
                      size_t rows_n, size_t opts_bytes)
{
    cachew_op op = {};
    op.struct_size = sizeof(op);
    op.name = name;
    op.version = 1;
    op.kind = kind;
    op.summary = summary;
    op.options = rows;
    op.options_n = rows_n;
    op.opts_bytes = opts_bytes;
    return op;
}

} // namespace

CACHEW_OP_LIBRARY(loader)
{
    static cachew_op_option words_rows[] = {option("least", "fewest words of a text that is kept",
                                                   CACHEW_OP_OPT_I64, offsetof(words_opts, least),
                                                   "0")};
    static cachew_op_option lines_rows[] = {
        option("path", "the file", CACHEW_OP_OPT_STR, offsetof(lines_opts, path), nullptr)};
    static cachew_op_option every_rows[] = {
        option("n", "each n-th element is taken", CACHEW_OP_OPT_I64, offsetof(every_opts, n), "2")};
    static cachew_op_option chunks_rows[] = {
        option("bytes", "most bytes of an element", CACHEW_OP_OPT_BYTES,
               offsetof(chunks_opts, bytes), "\"4KiB\""),
        option("span", "rows of an item", CACHEW_OP_OPT_I64, offsetof(chunks_opts, span), "64")};
    static cachew_op words, lines, every, chunks;
    static const cachew_op *const ops[] = {&words, &lines, &every, &chunks};
    static cachew_op_library library;
    engine = loader;

    words = operator_of("mylab.words", CACHEW_OP_ELEMENT, "texts and how many words they have",
                        words_rows, 1, sizeof(words_opts));
    words.traits = CACHEW_OP_DROPS;
    words.infer = words_infer;
    words.apply = words_apply;

    lines_rows[0].flags = CACHEW_OP_OPT_REQUIRED;
    lines = operator_of("mylab.lines", CACHEW_OP_SOURCE, "the lines of a file", lines_rows, 1,
                        sizeof(lines_opts));
    lines.infer = lines_infer;
    lines.open = lines_open;
    lines.close = lines_close;
    lines.count = lines_count;
    lines.read = lines_read;
    lines.manifest = lines_manifest;
    lines.describe = lines_describe;

    every_rows[0].min = 1;
    every_rows[0].max = 1e9;
    every = operator_of("mylab.every", CACHEW_OP_INDEX, "each n-th element", every_rows, 1,
                        sizeof(every_opts));
    every.traits = CACHEW_OP_AFFINE;
    every.count = every_count;
    every.map = every_map;

    chunks_rows[0].min = 1;
    chunks_rows[0].max = 1e9;
    chunks_rows[1].min = 1;
    chunks_rows[1].max = 1e6;
    chunks = operator_of("mylab.chunks", CACHEW_OP_GROUP, "texts put together", chunks_rows, 2,
                         sizeof(chunks_opts));
    chunks.infer = chunks_infer;
    chunks.inside = chunks_inside;
    chunks.span_option = "span";

    library.struct_size = sizeof(library);
    library.abi = CACHEW_OP_ABI;
    library.name = "mylab-texts";
    library.version = "1.0";
    library.ops = ops;
    library.ops_n = sizeof(ops) / sizeof(ops[0]);
    return &library;
}
