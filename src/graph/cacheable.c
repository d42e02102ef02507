/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nodes that may be cached, and the reason for each other node. */
#include "graph/cacheable.h"

#include "base/mem.h"
#include "ops/element/cache_opts.h"

/* Reasons why a node cannot be cached, with what is wrong and what to do about it. Only the first
 * one that applies is reported. */
enum reason {
    RANDOM,
    VARIES,
    INSIDE,
    PARTS,
    JOINED,
    SHUFFLED,
    ZIPPED,
    NUMBERED,
    PATHS,
    STATUS,
    REASONS
};
static const char *const texts[REASONS] = {
    [RANDOM] =
        "a random operator before it draws anew in each epoch; put it before that operator, or set "
        "freeze: true, which keeps the first draws",
    [INSIDE] = "what is made inside items depends on where items begin; put it before that",
    [PARTS] =
        "parts of an element have no id of their own by which a cache could find them; put it "
        "before that",
    [VARIES] = "an operator before it says that it may give another result for the same element "
               "(deterministic: false); put it before that operator",
    [SHUFFLED] =
        "batches of shuffled elements are other ones in each epoch; put it before the batch, or "
        "the shuffle behind the batch",
    [ZIPPED] = "inputs of a zip were permuted, cut or repeated each by itself, so ids do not tell "
               "what met "
               "what; put it before the zip, or those operators behind the zip",
    [NUMBERED] = "elements were permuted, cut or repeated before they were numbered, so an id does "
                 "not tell the "
                 "number; put it before enumerate",
    [JOINED] =
        "batches of a pipeline with a filter are put together in the trainer's process; put it "
        "before the batch",
    [PATHS] = "a cached path would not know what its file has to be; put it behind read_file",
    [STATUS] = "its source says how things stand, not what is in files"};

/* what is known of a node in addition to what check.h has */
struct facts {
    uint32_t reasons; /* a bit for each reason */
    /* ids are positions: there is no index operator since the source, batch or zip */
    bool by_position;
    bool shuffled;             /* the node, or one below it, permutes by seed and epoch */
    struct cw_field_set paths; /* the fields that are paths with a stamp */
};

bool cw_freezes(const struct cw_checked_node *node)
{
    return cw_passes_by(node->op) && ((const struct cw_cache_opts *)node->opts)->freeze;
}

static bool draws(const struct cw_checked_node *node)
{
    return node->op->kind == CW_OP_ELEMENT && cw_op_draws(node->op, node->opts);
}

int cw_frozen_find(struct cw_checked *checked, struct cw_err *err)
{
    size_t n = checked->graph->n;
    /* For each node: some way from it to the output has no freeze. */
    cw_autofree bool *around = CW_NEW_ARRAY(bool, n);
    around[n - 1] = true;
    for (size_t i = n; i-- > 0;) {
        struct cw_checked_node *node = &checked->nodes[i];
        if (node->frozen && around[i] && draws(node))
            return cw_err_set(err, CW_E_INVALID,
                              "node \"%s\" (%s): is read through a node with freeze: true and also "
                              "around it, so it would have to draw in two "
                              "ways; make two nodes of it",
                              checked->graph->nodes[i].name, node->op->name);
        bool freezes = cw_freezes(node);
        for (size_t k = 0; k < node->inputs_n; k++) {
            struct cw_checked_node *in = &checked->nodes[node->inputs[k]];
            in->frozen = in->frozen || freezes || node->frozen;
            around[node->inputs[k]] = around[node->inputs[k]] || (around[i] && !freezes);
        }
    }
    return 0;
}

/* Returns the fields that may still be paths of `files` behind an operator. */
static struct cw_field_set paths_of(const struct cw_checked *checked, size_t i,
                                    const struct facts *facts)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    struct cw_field_set paths = {{0}};
    size_t shift = 0;
    if (node->op->kind == CW_OP_SOURCE)
        return cw_field_set_of_first(node->op->traits & CW_OP_PATHS ? node->out.n : 0);
    if (node->op->kind == CW_OP_GROUP)
        return paths; /* behind it no operator can read the files any more */
    for (size_t k = 0; k < node->inputs_n; k++) {
        const struct cw_spec *in = &checked->nodes[node->inputs[k]].out;
        for (size_t f = 0; f < in->n; f++)
            if (cw_field_set_has(&facts[node->inputs[k]].paths, f))
                cw_field_set_add(&paths, f + shift);
        shift += (node->op->traits & CW_OP_MERGE) ? in->n : 0;
    }
    for (size_t k = 0; k < node->fields_n; k++)
        cw_field_set_remove(&paths, node->fields[k]);
    for (size_t k = 0; k < node->out.n; k++)
        if (node->out.fields[k].dtype != CW_DTYPE_STR)
            cw_field_set_remove(&paths, k);
    return paths;
}

static void find_facts(const struct cw_checked *checked, size_t i, struct facts *facts)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    const struct cw_op *op = node->op;
    struct facts *mine = &facts[i];
    bool group = op->kind == CW_OP_GROUP, merge = (op->traits & CW_OP_MERGE) != 0;
    bool index = (op->kind == CW_OP_INDEX && !merge) || node->surveyed;
    bool parts = node->surveyed && op->takes_apart;
    bool inside =
        group && !parts && cw_op_is_inside(op, node->opts, checked->nodes[node->inputs[0]].sparse);
    bool numbers = (op->traits & CW_OP_POSITION) != 0, by_position = true;
    mine->by_position = !index;
    mine->shuffled = index && (op->traits & CW_OP_RANDOM);
    for (size_t k = 0; k < node->inputs_n; k++) {
        const struct facts *in = &facts[node->inputs[k]];
        by_position = in->by_position;
        mine->by_position = mine->by_position && (in->by_position || group);
        mine->shuffled = mine->shuffled || in->shuffled;
        mine->reasons |= in->reasons;
    }
    mine->paths = paths_of(checked, i, facts);
    /* this reason is asked of each node by itself */
    mine->reasons &= ~(1u << PATHS);
    if (group) /* the position alone says what its elements are, wherever they come from */
        mine->reasons &= ~(1u << ZIPPED);
    mine->reasons |= (uint32_t)(draws(node) && !node->frozen) << RANDOM |
                     (uint32_t)(op->varies && op->varies(node->opts)) << VARIES |
                     (uint32_t)(group && mine->shuffled) << SHUFFLED |
                     (uint32_t)(merge && !mine->by_position) << ZIPPED |
                     (uint32_t)(numbers && !by_position) << NUMBERED |
                     (uint32_t)(inside) << INSIDE | (uint32_t)(parts) << PARTS |
                     (uint32_t)(group && node->sparse) << JOINED |
                     (uint32_t)!cw_field_set_is_empty(&mine->paths) << PATHS |
                     (uint32_t)(op->kind == CW_OP_SOURCE && (op->traits & CW_OP_OPAQUE)) << STATUS;
}

static const char *first_reason(uint32_t reasons)
{
    for (size_t k = 0; k < REASONS; k++)
        if ((reasons >> k) & 1)
            return texts[k];
    return NULL;
}

static void add_hash(struct cw_hasher *hasher, struct cw_hash hash)
{
    cw_hasher_add_u64(hasher, hash.hi);
    cw_hasher_add_u64(hasher, hash.lo);
}

/* Begins the hash of what an element is a function of, besides its id, the sources' files and (for random
 * operators) the seed; what comes in is added behind it. */
static void begin_element(const struct cw_checked_node *node, const char *canon,
                          struct cw_hasher *hasher)
{
    cw_hasher_reset(hasher);
    cw_hasher_add_str(hasher, "element 1");
    cw_hasher_add_str(hasher, node->op->name);
    cw_hasher_add_u64(hasher, node->op->version);
    cw_hasher_add_str(hasher, canon);
    cw_hasher_add_u64(hasher, node->fields_n);
    for (size_t k = 0; k < node->fields_n; k++)
        cw_hasher_add_u64(hasher, node->fields[k]);
    cw_hasher_add_u64(hasher, draws(node) ? node->tag : 0);
    cw_hasher_add_u64(hasher, node->frozen && draws(node));
    cw_hasher_add_u64(hasher, node->inputs_n);
}

/* Of several inputs: which element an id stands for does not depend on how they are put in a row, since an
 * id is the pair of the input's number and the id there. */
static void begin_chosen(const struct cw_checked_node *node, struct cw_hasher *hasher)
{
    cw_hasher_reset(hasher);
    cw_hasher_add_str(hasher, "chosen 1");
    cw_hasher_add_u64(hasher, node->inputs_n);
}

void cw_canon_options(const struct cw_op *op, const void *opts, struct cw_str *out)
{
    static const struct cw_opt none[] = {
        {0},
    };
    cw_opt_canon(op->options ? op->options : none, opts, out);
}

struct cw_hash cw_element_behind(const struct cw_checked_node *node, const char *canon,
                                 struct cw_hash before)
{
    struct cw_hasher *hasher = cw_hasher_new();
    begin_element(node, canon, hasher);
    add_hash(hasher, before);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

struct cw_hash cw_element_written(const struct cw_checked *checked, size_t i)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    const struct cw_op *op = node->op;
    bool chooses = op->kind == CW_OP_INDEX && !(op->traits & (CW_OP_MERGE | CW_OP_POSITION));
    if (cw_passes_by(op) || (chooses && node->inputs_n == 1))
        return checked->nodes[node->inputs[0]].element;
    CW_STR_AUTO canon = {0};
    struct cw_hasher *hasher = cw_hasher_new();
    if (!chooses)
        cw_canon_options(op, node->opts, &canon);
    if (chooses)
        begin_chosen(node, hasher);
    else
        begin_element(node, cw_str_text(&canon), hasher);
    for (size_t k = 0; k < node->inputs_n; k++) {
        const struct cw_checked_node *in = &checked->nodes[node->inputs[k]];
        /* which elements a batch contains depends on everything that chose their positions */
        add_hash(hasher, op->kind == CW_OP_GROUP ? in->fingerprint : in->element);
    }
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

static int check_place(const struct cw_checked *checked, size_t i, struct cw_err *err)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    const struct cw_node *in_graph = &checked->graph->nodes[i];
    if ((node->op->traits & CW_OP_MARK) && !in_graph->named)
        return cw_err_set(err, CW_E_INVALID,
                          "node \"%s\" (mark): needs a `name`: it is what the place is called",
                          in_graph->name);
    if ((node->op->traits & CW_OP_CACHE) && node->uncacheable)
        return cw_err_set(err, CW_E_INVALID,
                          "node \"%s\" (cache): elements cannot be cached here: %s", in_graph->name,
                          node->uncacheable);
    return 0;
}

int cw_cacheable_find(struct cw_checked *checked, struct cw_err *err)
{
    size_t n = checked->graph->n;
    cw_autofree struct facts *facts = CW_NEW_ARRAY(struct facts, n);
    int rc = 0;
    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct cw_checked_node *node = &checked->nodes[i];
        find_facts(checked, i, facts);
        node->uncacheable = first_reason(facts[i].reasons);
        node->element = cw_element_written(checked, i);
        rc = check_place(checked, i, err);
    }
    return rc;
}
