/* SPDX-License-Identifier: Apache-2.0 */
/* YAML documents as JSON values, with the types of YAML 1.2's core schema for plain scalars. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include <yaml.h>
#include "base/mem.h"

static json_t *scalar(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    size_t n = node->data.scalar.length;
    int64_t number;
    double real;
    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return json_stringn(text, n);
    if (n == 0 || cw_str_eq(text, "~") || cw_str_eq(text, "null"))
        return json_null();
    if (cw_str_eq(text, "true") || cw_str_eq(text, "false"))
        return json_boolean(*text == 't');
    if (cw_str_to_i64(text, &number))
        return json_integer(number);
    if (strpbrk(text, "0123456789") && cw_str_to_f64(text, &real))
        return json_real(real);
    return json_stringn(text, n);
}

/* Documents have the depth of manifests; libyaml bounds it. */
static json_t *value_of(yaml_document_t *document, const yaml_node_t *node)
{
    if (!node || node->type == YAML_NO_NODE)
        return json_null();
    if (node->type == YAML_SCALAR_NODE)
        return scalar(node);
    json_t *ret = node->type == YAML_SEQUENCE_NODE ? json_array() : json_object();
    if (node->type == YAML_SEQUENCE_NODE)
        for (yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++)
            json_array_append_new(ret, value_of(document, yaml_document_get_node(document, *item)));
    else
        for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
            const yaml_node_t *key = yaml_document_get_node(document, pair->key);
            if (key->type == YAML_SCALAR_NODE)
                json_object_set_new(
                    ret, (const char *)key->data.scalar.value,
                    value_of(document, yaml_document_get_node(document, pair->value)));
        }
    return ret;
}

/* Loads the next document; NULL: there is none, or an error. */
static json_t *next_document(yaml_parser_t *parser, struct cw_err *err, bool *ret_end)
{
    yaml_document_t document;
    *ret_end = false;
    if (!yaml_parser_load(parser, &document)) {
        cw_err_set(err, CW_E_INVALID, "line %zu: %s", parser->problem_mark.line + 1,
                   parser->problem ? parser->problem : "no YAML");
        return NULL;
    }
    yaml_node_t *root = yaml_document_get_root_node(&document);
    *ret_end = !root;
    json_t *ret = root ? value_of(&document, root) : NULL;
    yaml_document_delete(&document);
    return ret;
}

json_t *fk_yaml_document(const char *text, size_t n, size_t number, struct cw_err *err)
{
    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    json_t *document = NULL;
    bool end = false;
    for (size_t i = 0; i <= number && !end; i++) {
        json_decref(document);
        document = next_document(&parser, err, &end);
        if (!document)
            break;
    }
    yaml_parser_delete(&parser);
    return document;
}
