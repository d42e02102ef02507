/* SPDX-License-Identifier: Apache-2.0 */
/* Reads schema elements, and makes a leaf of each that has values: its name and its levels. */
#include "format/parquet/schema.h"

#include <string.h>

#include "base/mem.h"

enum { REQUIRED, OPTIONAL, REPEATED };
enum { /* ConvertedType of the format, as far as it matters */
       CONVERTED_MAP = 1,
       CONVERTED_LIST = 3,
       CONVERTED_DECIMAL = 5,
       CONVERTED_UINT_8 = 11,
       CONVERTED_INT_64 = 18
};
enum {
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_DECIMAL = 5,
    LOGICAL_INTEGER = 10,
    LOGICAL_FLOAT16 = 15
};
enum { NAME_BYTES_MAX = 1000 };

struct element {
    struct cw_pq_leaf leaf;
    const uint8_t *name;
    size_t name_n;
    int64_t repetition, children;
    bool is_list, has_type;
};
/* A group that is being read. */
struct group {
    int64_t left; /* children that follow */
    size_t name_n;
    uint8_t def, rep, entry_def;
    bool is_list;  /* the repeated group below it only makes a list */
    bool is_entry; /* it is such a repeated group */
};
struct walk {
    struct group groups[CW_PQ_DEPTH_MAX];
    size_t depth;
    char name[NAME_BYTES_MAX + 1];
};

static void set_converted(struct element *e, int64_t converted)
{
    static const int bits[] = {8, 16, 32, 64};
    e->is_list = e->is_list || converted == CONVERTED_LIST;
    if (converted == CONVERTED_DECIMAL)
        e->leaf.logical = CW_PQ_DECIMAL;
    if (converted >= CONVERTED_UINT_8 && converted <= CONVERTED_INT_64) {
        e->leaf.logical = CW_PQ_INT;
        e->leaf.bits = bits[(converted - CONVERTED_UINT_8) % 4];
        e->leaf.is_signed = converted - CONVERTED_UINT_8 >= 4;
    }
}

/* IntType {1: bits, 2: is signed}, DecimalType {1: scale, 2: precision} */
static void read_parameters(struct cw_thrift *t, struct cw_pq_leaf *leaf)
{
    struct cw_thrift_field f = {0};
    while (cw_thrift_next(t, &f)) {
        if (f.id == 1 && leaf->logical == CW_PQ_INT)
            leaf->bits = (int)cw_thrift_int(t, &f);
        else if (f.id == 2 && leaf->logical == CW_PQ_INT)
            leaf->is_signed = cw_thrift_bool(t, &f);
        else if (f.id == 1 && leaf->logical == CW_PQ_DECIMAL)
            leaf->scale = (int)cw_thrift_int(t, &f);
        else
            cw_thrift_skip(t, &f);
    }
}

static void read_logical(struct cw_thrift *t, struct element *e)
{
    struct cw_thrift_field f = {0};
    while (cw_thrift_next(t, &f)) {
        e->is_list = e->is_list || f.id == LOGICAL_LIST;
        if (f.id == LOGICAL_FLOAT16)
            e->leaf.logical = CW_PQ_FLOAT16;
        if (f.id == LOGICAL_INTEGER || f.id == LOGICAL_DECIMAL) {
            e->leaf.logical = f.id == LOGICAL_INTEGER ? CW_PQ_INT : CW_PQ_DECIMAL;
            if (cw_thrift_struct(t, &f))
                read_parameters(t, &e->leaf);
        } else {
            cw_thrift_skip(t, &f);
        }
    }
}

static void read_field(struct cw_thrift *t, const struct cw_thrift_field *f, struct element *e)
{
    int64_t value = 0;
    if (f->id == 4) {
        e->name_n = cw_thrift_bytes(t, f, &e->name);
    } else if (f->id == 10) {
        if (cw_thrift_struct(t, f))
            read_logical(t, e);
    } else if (f->id > 7) {
        cw_thrift_skip(t, f);
    } else {
        value = cw_thrift_int(t, f);
    }
    if (f->id == 1) {
        if (value < 0 || value >= CW_PQ_PHYSICAL_N)
            cw_thrift_fail(t, "a column has an unknown type");
        e->leaf.physical = (enum cw_pq_physical)value;
        e->has_type = true;
    } else if (f->id == 2) {
        if (value < 0 || value > INT32_MAX)
            cw_thrift_fail(t, "a column has values of an impossible length");
        e->leaf.type_bytes = (uint32_t)value;
    } else if (f->id == 3) {
        e->repetition = value;
    } else if (f->id == 5) {
        e->children = value;
    } else if (f->id == 6) {
        set_converted(e, value);
    } else if (f->id == 7) {
        e->leaf.scale = (int)value;
    }
}

static struct element read_element(struct cw_thrift *t)
{
    struct element e = {0};
    struct cw_thrift_field f = {0};
    while (cw_thrift_next(t, &f))
        read_field(t, &f, &e);
    if (e.children < 0 || e.repetition < REQUIRED || e.repetition > REPEATED ||
        (e.children == 0) != e.has_type || memchr(e.name ? e.name : t->begin, 0, e.name_n))
        cw_thrift_fail(t, "a schema element is neither a column nor a group");
    return e;
}

/* Appends a name to the path of the walk; returns its new length. */
static size_t add_name(struct cw_thrift *t, struct walk *w, size_t at, const struct element *e)
{
    bool dot = at > 0;
    if (e->name_n + dot > NAME_BYTES_MAX - at) {
        cw_thrift_fail(t, "the name of a column is too long");
        return at;
    }
    if (dot)
        w->name[at] = '.';
    if (e->name_n > 0)
        memcpy(w->name + at + dot, e->name, e->name_n);
    return at + dot + e->name_n;
}

/* Derives levels and name of an element from the group that it is in. */
static struct group enter(struct cw_thrift *t, struct walk *w, const struct element *e)
{
    const struct group *up = &w->groups[w->depth - 1];
    struct group g = *up;
    g.left = e->children;
    g.is_list = e->is_list;
    g.def = (uint8_t)(up->def + (e->repetition != REQUIRED));
    g.rep = (uint8_t)(up->rep + (e->repetition == REPEATED));
    if (e->repetition == REPEATED && up->rep == 0)
        g.entry_def = g.def;
    /* The repeated child of a list, and the only child of that, have no name of their own. */
    bool nameless = (up->is_list && e->repetition == REPEATED) || up->is_entry;
    g.is_entry = up->is_list && e->repetition == REPEATED && e->children == 1;
    g.name_n = nameless ? up->name_n : add_name(t, w, up->name_n, e);
    return g;
}

static void add_leaf(struct cw_pq_footer *footer, struct walk *w, const struct element *e,
                     const struct group *g)
{
    struct cw_pq_leaf *leaf = &footer->leaves[footer->leaves_n++];
    *leaf = e->leaf;
    leaf->name = cw_mem_strndup(w->name, g->name_n);
    leaf->max_def = g->def;
    leaf->max_rep = g->rep;
    leaf->entry_def = g->entry_def;
}

static void read_below(struct cw_thrift *t, struct walk *w, struct cw_pq_footer *footer)
{
    struct element e = read_element(t);
    if (t->fault)
        return;
    struct group g = enter(t, w, &e);
    w->groups[w->depth - 1].left--;
    if (e.children == 0)
        add_leaf(footer, w, &e, &g);
    else if (w->depth == CW_PQ_DEPTH_MAX)
        cw_thrift_fail(t, "columns are nested too deep");
    else
        w->groups[w->depth++] = g;
}

void cw_pq_schema_read(struct cw_thrift *t, const struct cw_thrift_field *field,
                       struct cw_pq_footer *footer)
{
    size_t n = cw_thrift_list(t, field, CW_THRIFT_STRUCT);
    struct walk w = {.depth = 1};
    if (n == 0 || footer->leaves) {
        cw_thrift_fail(t, "there is no schema, or a second one");
        return;
    }
    footer->leaves = CW_NEW_ARRAY(struct cw_pq_leaf, n);
    w.groups[0].left = read_element(t).children;
    for (size_t i = 1; i < n && !t->fault; i++) {
        while (w.depth > 0 && w.groups[w.depth - 1].left == 0)
            w.depth--;
        if (w.depth == 0)
            cw_thrift_fail(t, "the schema has more elements than its groups have");
        else
            read_below(t, &w, footer);
    }
    while (w.depth > 0 && w.groups[w.depth - 1].left == 0)
        w.depth--;
    if (w.depth > 0)
        cw_thrift_fail(t, "the schema has fewer elements than its groups have");
}
