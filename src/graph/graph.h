/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a pipeline: named operators with untyped options. A graph is immutable and
 * refcounted; any thread may use it. This file knows no operators; graph/check.h does. */
#ifndef CW_GRAPH_GRAPH_H
#define CW_GRAPH_GRAPH_H

#include "conf/value.h"
#include "data/identity.h"

#define CW_GRAPH_NODES_MAX 1024
#define CW_GRAPH_NAME_BYTES 128 /* the most bytes of the name of a node, a field or an operator */

struct cw_node {
    char *name; /* unique; given by the user, or made like "decode_image", "decode_image_2" */
    bool named; /* the user has given the name */
    char *op;
    size_t inputs_n;
    size_t *inputs; /* indices of earlier nodes */
    /* No inputs were given, so the node reads the one before it in the list. check.h drops that
     * input if the node turns out to be a source. */
    bool chained;
    size_t fields_n;
    char **fields;
    bool keep_position;
    size_t depends_n;
    char **depends_on;       /* names of nodes */
    struct cw_value options; /* an object, without the reserved keys */
};
struct cw_graph {
    _Atomic int refs;
    char *name;                /* name of the pipeline; "": none */
    enum cw_identity identity; /* identity of its source files */
    size_t n;
    /* Inputs come before the nodes that read them. The last node is the output, and every node
     * leads to it. */
    struct cw_node *nodes;
};

/* Parses the text form (docs/pipelines.md). Messages begin with `where`, a file name. */
int cw_graph_parse(const char *text, size_t n, const char *where, struct cw_graph **ret_graph,
                   struct cw_err *err);
int cw_graph_load(const char *path, struct cw_graph **ret_graph, struct cw_err *err);
/* Writes the text form, which parses back to an equal graph. */
void cw_graph_print(const struct cw_graph *graph, struct cw_str *out);
struct cw_graph *cw_graph_ref(struct cw_graph *graph);
struct cw_graph *cw_graph_unref(struct cw_graph *graph);

/* Builds a graph on one thread. The builder keeps the first error, and cw_graph_builder_finish
 * reports it. */
struct cw_graph_builder;
struct cw_graph_builder *cw_graph_builder_new(const char *name) CW_MUST_CHECK;
void cw_graph_builder_free(struct cw_graph_builder *builder);
/* Sets how source files are told apart; the default is by modification time. */
void cw_graph_builder_set_identity(struct cw_graph_builder *builder, enum cw_identity identity);
/* Appends a node; takes the members of *node, which is zeroed. Inputs are given by name. inputs
 * NULL: the node reads the one before it, as in a chain; not NULL with inputs_n 0: it has no
 * input. */
void cw_graph_builder_add(struct cw_graph_builder *builder, struct cw_node *node,
                          const char *const *inputs, size_t inputs_n);
/* Appends a node whose inputs are indices of nodes that were added before, as in messages. Indices
 * from a peer are checked. */
void cw_graph_builder_add_indexed(struct cw_graph_builder *builder, struct cw_node *node);
/* Sorts topologically, and checks for duplicate names, cycles and unused nodes. */
int cw_graph_builder_finish(struct cw_graph_builder *builder, struct cw_graph **ret_graph,
                            struct cw_err *err);
void cw_node_fini(struct cw_node *node);
void cw_node_copy(const struct cw_node *from, struct cw_node *ret_node);
/* Copies the names of fields, or those of depends_on; the caller frees them. */
char **cw_node_copy_names(char *const *names, size_t n) CW_MUST_CHECK;

#endif
