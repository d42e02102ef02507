/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the schema of Arrow data: fields, and what lies in them. The walk over fields has a stack of its
 * own. */
#include <string.h>

#include "base/mem.h"
#include "format/arrow/head.h"

/* Numbers of the format: types of fields, and members of tables. */
enum {
    TYPE_NULL = 1,
    TYPE_INT,
    TYPE_FLOAT,
    TYPE_BINARY,
    TYPE_UTF8,
    TYPE_BOOL,
    TYPE_DECIMAL,
    TYPE_DATE,
    TYPE_TIME,
    TYPE_TIMESTAMP,
    TYPE_INTERVAL,
    TYPE_LIST,
    TYPE_STRUCT,
    TYPE_UNION,
    TYPE_FIXED_BINARY,
    TYPE_FIXED_LIST,
    TYPE_MAP,
    TYPE_DURATION,
    TYPE_LARGE_BINARY,
    TYPE_LARGE_UTF8,
    TYPE_LARGE_LIST,
    TYPE_RUN_END,
    TYPE_BINARY_VIEW,
    TYPE_UTF8_VIEW,
    TYPE_LIST_VIEW,
    TYPE_LARGE_LIST_VIEW
};
enum { SCHEMA_ENDIANNESS = 0, SCHEMA_FIELDS = 1 };
enum {
    FIELD_NAME = 0,
    FIELD_TYPE_KIND = 2,
    FIELD_TYPE = 3,
    FIELD_DICTIONARY = 4,
    FIELD_CHILDREN = 5
};

/* A field whose children are being read. */
struct level {
    struct cw_flat_vector fields;
    size_t next;
    int node;        /* their parent; -1: none */
    size_t name_n;   /* how much of the name is theirs */
    bool names_them; /* children have names: those of structs */
};
struct walk {
    struct cw_arrow_head *head;
    struct level levels[CW_ARROW_DEPTH_MAX + 1];
    size_t depth;
    struct cw_str name;
    size_t buffers, views; /* of the nodes so far */
};

static void set_int(struct cw_arrow_node *node, int bits, bool is_signed)
{
    static const enum cw_dtype dtypes[2][4] = {
        {CW_DTYPE_U8, CW_DTYPE_U16, CW_DTYPE_U32, CW_DTYPE_U64},
        {CW_DTYPE_I8, CW_DTYPE_I16, CW_DTYPE_I32, CW_DTYPE_I64}};
    const int size = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
    node->layout = CW_ARROW_FIXED;
    if (size < 0) {
        node->why = "integers of that many bits are not known";
        return;
    }
    node->dtype = dtypes[is_signed][size];
    node->width = (uint32_t)cw_dtype_bytes(node->dtype);
}

static void set_float(struct cw_arrow_node *node, int16_t precision)
{
    static const enum cw_dtype dtypes[] = {CW_DTYPE_F16, CW_DTYPE_F32, CW_DTYPE_F64};
    node->layout = CW_ARROW_FIXED;
    if (precision < 0 || precision > 2) {
        node->why = "floats of that precision are not known";
        return;
    }
    node->dtype = dtypes[precision];
    node->width = (uint32_t)cw_dtype_bytes(node->dtype);
}

static void set_strings(struct cw_arrow_node *node, uint32_t offset_bytes)
{
    node->layout = CW_ARROW_STRINGS;
    node->dtype = CW_DTYPE_STR;
    node->width = offset_bytes;
}

static void set_list(struct cw_arrow_node *node, uint32_t offset_bytes)
{
    node->layout = CW_ARROW_LIST;
    node->width = offset_bytes;
}

static void set_fixed_binary(struct cw_arrow_node *node, int32_t bytes)
{
    node->layout = CW_ARROW_FIXED;
    node->dtype = CW_DTYPE_U8;
    node->width = (uint32_t)bytes;
    node->is_bytes = true;
    if (bytes <= 0)
        node->why = "values of no bytes are not supported";
}

static void set_fixed_list(struct cw_arrow_node *node, int32_t size)
{
    node->layout = CW_ARROW_FIXED_LIST;
    node->size = size;
    if (size <= 0)
        node->why = "lists of no entries are not supported";
}

/* Sets the type, and how many buffers it has. */
static unsigned set_type(struct cw_arrow_node *node, uint8_t kind, const struct cw_flat_table *type)
{
    switch (kind) {
    case TYPE_INT:
        set_int(node, cw_flat_i32(type, 0, 0), cw_flat_u8(type, 1, 0) != 0);
        return 2;
    case TYPE_FLOAT:
        set_float(node, cw_flat_i16(type, 0, 0));
        return 2;
    case TYPE_BINARY:
    case TYPE_UTF8:
        set_strings(node, 4);
        return 3;
    case TYPE_LARGE_BINARY:
    case TYPE_LARGE_UTF8:
        set_strings(node, 8);
        return 3;
    case TYPE_BOOL:
        node->layout = CW_ARROW_BITS;
        node->dtype = CW_DTYPE_BOOL;
        node->width = 1;
        return 2;
    case TYPE_DATE: /* days, or milliseconds */
        set_int(node, cw_flat_i16(type, 0, 1) == 0 ? 32 : 64, true);
        return 2;
    case TYPE_TIME:
        set_int(node, cw_flat_i32(type, 1, 32), true);
        return 2;
    case TYPE_TIMESTAMP:
    case TYPE_DURATION:
        set_int(node, 64, true);
        return 2;
    case TYPE_LIST:
        set_list(node, 4);
        return 2;
    case TYPE_LARGE_LIST:
        set_list(node, 8);
        return 2;
    case TYPE_STRUCT:
        node->layout = CW_ARROW_STRUCT;
        return 1;
    case TYPE_FIXED_BINARY:
        set_fixed_binary(node, cw_flat_i32(type, 0, 0));
        return 2;
    case TYPE_FIXED_LIST:
        set_fixed_list(node, cw_flat_i32(type, 0, 0));
        return 1;
    case TYPE_NULL:
        node->why = "a column of nothing but nulls has no type";
        return 0;
    case TYPE_DECIMAL:
        node->why = "decimals are not supported";
        return 2;
    case TYPE_INTERVAL:
        node->why = "intervals are not supported";
        return 2;
    case TYPE_MAP:
        node->why = "maps are not supported";
        return 2;
    case TYPE_RUN_END:
        node->why = "run-end encoded columns are not supported";
        return 0;
    case TYPE_BINARY_VIEW:
    case TYPE_UTF8_VIEW:
        node->why = "views of strings are not supported";
        return 2;
    case TYPE_LIST_VIEW:
    case TYPE_LARGE_LIST_VIEW:
        node->why = "views of lists are not supported";
        return 3;
    case TYPE_UNION:
        node->why = "unions are not supported";
        return cw_flat_i16(type, 0, 0) == 0 ? 1 : 2; /* sparse, dense */
    default:
        node->why = "its type is not known";
        return 0;
    }
}

/* A dictionary's numbers stand where its values would. */
static unsigned set_dictionary(struct cw_arrow_node *node, const struct cw_flat_table *dictionary)
{
    const struct cw_flat_table type = cw_flat_table(dictionary, 1);
    struct cw_arrow_node index = {0};
    set_int(&index, type.flat ? cw_flat_i32(&type, 0, 0) : 32,
            type.flat ? cw_flat_u8(&type, 1, 0) != 0 : true);
    if (!node->why && index.why)
        node->why = index.why;
    if (!node->why && node->layout != CW_ARROW_FIXED && node->layout != CW_ARROW_BITS &&
        node->layout != CW_ARROW_STRINGS)
        node->why = "dictionaries of lists and structs are not supported";
    node->has_dictionary = true;
    node->dictionary = cw_flat_i64(dictionary, 0, 0);
    node->index = index.dtype;
    return 2;
}

static void add_leaf(struct walk *w, size_t node)
{
    struct cw_arrow_head *h = w->head;
    CW_GROW(h->leaves, h->leaves_n, h->leaves_cap);
    h->leaves[h->leaves_n++] =
        (struct cw_arrow_leaf){.name = cw_mem_strdup(cw_str_text(&w->name)), .node = node};
}

/* Whether children are to be read for their own sake: those of what cannot be read only have buffers. */
static bool has_parts(const struct cw_arrow_node *node)
{
    return node->layout == CW_ARROW_STRUCT || node->layout == CW_ARROW_LIST ||
           node->layout == CW_ARROW_FIXED_LIST;
}

static bool is_behind_other(const struct walk *w, int parent)
{
    const struct cw_arrow_node *nodes = w->head->nodes;
    for (; parent >= 0; parent = nodes[parent].parent)
        if (!has_parts(&nodes[parent]))
            return true;
    return false;
}

/* Puts the name of a field behind those of what it lies in. */
static void name_field(struct walk *w, const struct level *in, const char *name, size_t name_n)
{
    if (w->name.s)
        w->name.s[in->name_n] = '\0';
    w->name.len = in->name_n;
    if (!in->names_them)
        return;
    if (in->name_n > 0)
        cw_str_add_char(&w->name, '.');
    cw_str_add_bytes(&w->name, name, name_n);
}

/* Adds a field, and begins its children. */
static const char *add_field(struct walk *w, const struct cw_flat_table *field,
                             const struct level *in)
{
    struct cw_arrow_head *h = w->head;
    const struct cw_flat_table type = cw_flat_table(field, FIELD_TYPE);
    const struct cw_flat_table dictionary = cw_flat_table(field, FIELD_DICTIONARY);
    const struct cw_flat_vector children = cw_flat_vector(field, FIELD_CHILDREN, 4);
    const uint8_t kind = cw_flat_u8(field, FIELD_TYPE_KIND, 0);
    struct cw_arrow_node node = {
        .layout = CW_ARROW_OTHER, .parent = in->node, .buffer = w->buffers, .views = w->views};
    size_t name_n;
    const char *name = cw_flat_string(field, FIELD_NAME, &name_n);
    if (h->nodes_n == CW_ARROW_FIELDS_MAX)
        return "its schema has too many fields";
    unsigned buffers = set_type(&node, kind, &type);
    if (dictionary.flat)
        buffers = set_dictionary(&node, &dictionary);
    else if (kind == TYPE_BINARY_VIEW || kind == TYPE_UTF8_VIEW)
        w->views++;
    w->buffers += buffers;
    name_field(w, in, name, name_n);
    if (memchr(name, '\0', name_n))
        return "the name of a field has a zero byte";
    CW_GROW(h->nodes, h->nodes_n, h->nodes_cap);
    h->nodes[h->nodes_n++] = node;
    if ((!has_parts(&node) || dictionary.flat) && !is_behind_other(w, in->node))
        add_leaf(w, h->nodes_n - 1);
    if (children.n == 0 || dictionary.flat)
        return has_parts(&node) && !dictionary.flat && node.layout != CW_ARROW_STRUCT
                   ? "a list in its schema says nothing of its entries"
                   : NULL;
    if (w->depth == CW_ARROW_DEPTH_MAX)
        return "its fields are nested too deep";
    w->levels[w->depth++] = (struct level){.fields = children,
                                           .node = (int)h->nodes_n - 1,
                                           .name_n = w->name.len,
                                           .names_them = node.layout == CW_ARROW_STRUCT};
    return NULL;
}

const char *cw_arrow_schema_read(const struct cw_flat_table *schema, struct cw_arrow_head *head)
{
    struct walk w = {.head = head, .depth = 1};
    const char *fault = NULL;
    if (cw_flat_i16(schema, SCHEMA_ENDIANNESS, 0) != 0)
        return "its values are big endian, which is not supported";
    w.levels[0] = (struct level){
        .fields = cw_flat_vector(schema, SCHEMA_FIELDS, 4), .node = -1, .names_them = true};
    while (!fault && w.depth > 0 && !schema->flat->bad) {
        struct level *level = &w.levels[w.depth - 1];
        if (level->next == level->fields.n) {
            w.depth--;
            continue;
        }
        const struct cw_flat_table field = cw_flat_entry(&level->fields, level->next++);
        fault = add_field(&w, &field, level);
    }
    cw_str_fini(&w.name);
    return fault || !schema->flat->bad ? fault : "its schema is damaged";
}

/* ---- types of leaves ---- */

static int refuse(const struct cw_arrow_leaf *leaf, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNSUPPORTED, "column %s: %s", leaf->name, why);
}

/* Puts a dimension before those that there are. */
static bool put_dim(struct cw_field *type, int64_t dim)
{
    if (type->rank == CW_RANK_MAX)
        return false;
    memmove(type->dims + 1, type->dims, (size_t)type->rank * sizeof(type->dims[0]));
    type->dims[0] = dim;
    type->rank++;
    return true;
}

int cw_arrow_leaf_type(const struct cw_arrow_head *head, size_t i, struct cw_field *ret_type,
                       struct cw_err *err)
{
    const struct cw_arrow_leaf *leaf = &head->leaves[i];
    const struct cw_arrow_node *node = &head->nodes[leaf->node];
    struct cw_field type = {.dtype = node->dtype};
    if (node->is_bytes)
        (void)put_dim(&type, node->width);
    for (int at = (int)leaf->node; at >= 0; at = head->nodes[at].parent) {
        const struct cw_arrow_node *n = &head->nodes[at];
        if (n->why)
            return refuse(leaf, n->why, err);
        if (n->layout == CW_ARROW_LIST && type.rank > 0 && type.dims[0] < 0)
            return refuse(leaf, "lists of lists are not supported", err);
        if (n->layout == CW_ARROW_FIXED_LIST && type.rank > 0 && type.dims[0] < 0)
            return refuse(leaf, "lists of lists of any length are not supported", err);
        if ((n->layout == CW_ARROW_LIST && !put_dim(&type, -1)) ||
            (n->layout == CW_ARROW_FIXED_LIST && !put_dim(&type, n->size)))
            return refuse(leaf, "it has too many dimensions", err);
    }
    if (type.dtype == CW_DTYPE_STR && type.rank > 1)
        return refuse(leaf, "lists of lists of strings are not supported", err);
    *ret_type = type;
    return 0;
}
