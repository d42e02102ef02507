/* SPDX-License-Identifier: Apache-2.0 */
/* Reads kubeconfig files with libyaml, whose nodes are looked at in place: aliases are not expanded,
 * and nothing recurses. */
#include "kube/kubeconfig.h"

#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/kube_file.h"

/* Reads a mapping's value, or NULL. */
static yaml_node_t *member(yaml_document_t *doc, yaml_node_t *map, const char *key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top;
         pair++) {
        yaml_node_t *name = yaml_document_get_node(doc, pair->key);

        if (name && name->type == YAML_SCALAR_NODE &&
            strcmp((const char *)name->data.scalar.value, key) == 0)
            return yaml_document_get_node(doc, pair->value);
    }
    return NULL;
}

static bool is_null(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;

    return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (strcmp(text, "null") == 0 || strcmp(text, "~") == 0 || text[0] == '\0');
}

/* Borrows the text of a member; NULL: it is not there, empty or null. `where` names the mapping. */
static int text_of(yaml_document_t *doc, yaml_node_t *map, const char *where, const char *key,
                   const char **ret, struct cw_err *err)
{
    yaml_node_t *node = member(doc, map, key);

    *ret = NULL;
    if (!node)
        return CW_OK;
    if (node->type != YAML_SCALAR_NODE ||
        strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
        return cw_err_set(err, CW_E_INVALID, "%s.%s is not a text", where, key);
    if (!is_null(node) && node->data.scalar.length > 0)
        *ret = (const char *)node->data.scalar.value;
    return CW_OK;
}

struct copy {
    const char *key;
    char **to;
};

static int copy_texts(yaml_document_t *doc, yaml_node_t *map, const char *where,
                      const struct copy *copies, size_t n, struct cw_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *text;
        int rc = text_of(doc, map, where, copies[i].key, &text, err);

        if (rc != CW_OK)
            return rc;
        *copies[i].to = cw_mem_strdup(text);
    }
    return CW_OK;
}

/* Finds the entry of a list such as "clusters" by its name, and in it the mapping `inner`. */
static int find_named(yaml_document_t *doc, const char *list, const char *inner, const char *name,
                      yaml_node_t **ret, struct cw_err *err)
{
    yaml_node_t *node = member(doc, yaml_document_get_root_node(doc), list);

    if (!node || node->type != YAML_SEQUENCE_NODE)
        return cw_err_set(err, CW_E_INVALID, "there is no list \"%s\"", list);
    for (yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top; item++) {
        yaml_node_t *entry = yaml_document_get_node(doc, *item);
        const char *its = NULL;

        if (text_of(doc, entry, list, "name", &its, NULL) != CW_OK || !cw_str_eq(its, name))
            continue;
        *ret = member(doc, entry, inner);
        if (*ret && (*ret)->type == YAML_MAPPING_NODE)
            return CW_OK;
        return cw_err_set(err, CW_E_INVALID, "\"%.200s\" of \"%s\" has no \"%s\"", name, list,
                          inner);
    }
    return cw_err_set(err, CW_E_INVALID, "there is no \"%.200s\" in \"%s\"", name, list);
}

#define MAKE_TOKEN                                                                                 \
    "give a token or tokenFile of a ServiceAccount (kubectl create token), or a client "           \
    "certificate, instead"
static const struct refused {
    const char *key, *advice;
} refused_of_user[] =
    {
        {"exec", "programs are not run for credentials: " MAKE_TOKEN},
        {"auth-provider", "credentials are not fetched from providers: " MAKE_TOKEN},
        {"username", "API servers have no passwords any more: " MAKE_TOKEN},
        {"password", "API servers have no passwords any more: " MAKE_TOKEN},
        {"as", "others are not impersonated: " MAKE_TOKEN},
},
  refused_of_cluster[] = {
      {"insecure-skip-tls-verify",
       "servers are verified: put the certificate of the server's authority into "
       "certificate-authority-data instead"},
      {"tls-server-name", "put a name that stands in the server's certificate into server instead"},
      {"proxy-url", "proxies are not used: name the server itself"},
};

/* Refuses what would have to be obeyed. "false" asks for nothing. */
static int refuse(yaml_document_t *doc, yaml_node_t *map, const char *where,
                  const struct refused *refused, size_t n, struct cw_err *err)
{
    for (size_t i = 0; i < n; i++) {
        yaml_node_t *node = member(doc, map, refused[i].key);
        bool is_text = node && node->type == YAML_SCALAR_NODE;

        if (!node || (is_text && (is_null(node) || node->data.scalar.length == 0)))
            continue;
        if (is_text && strcmp((const char *)node->data.scalar.value, "false") == 0)
            continue;
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s.%s is not supported: %s", where,
                          refused[i].key, refused[i].advice);
    }
    return CW_OK;
}

static int read_cluster(yaml_document_t *doc, const char *name, struct cw_kubeconfig *config,
                        struct cw_err *err)
{
    const struct copy copies[] = {
        {"server", &config->server},
        {"certificate-authority", &config->ca_file},
        {"certificate-authority-data", &config->ca_data},
    };
    yaml_node_t *cluster = NULL;
    int rc = find_named(doc, "clusters", "cluster", name, &cluster, err);

    if (rc == CW_OK)
        rc = refuse(doc, cluster, "cluster", refused_of_cluster, CW_ARRAY_LEN(refused_of_cluster),
                    err);
    if (rc == CW_OK)
        rc = copy_texts(doc, cluster, "cluster", copies, CW_ARRAY_LEN(copies), err);
    if (rc == CW_OK && !config->server)
        rc = cw_err_set(err, CW_E_INVALID, "the cluster \"%.200s\" has no server", name);
    return rc;
}

static int read_user(yaml_document_t *doc, const char *name, struct cw_kubeconfig *config,
                     struct cw_err *err)
{
    const struct copy copies[] = {
        {"client-certificate", &config->cert_file},
        {"client-certificate-data", &config->cert_data},
        {"client-key", &config->key_file},
        {"client-key-data", &config->key_data},
        {"token", &config->token},
        {"tokenFile", &config->token_file},
    };
    yaml_node_t *user = NULL;
    int rc = find_named(doc, "users", "user", name, &user, err);

    if (rc == CW_OK)
        rc = refuse(doc, user, "user", refused_of_user, CW_ARRAY_LEN(refused_of_user), err);
    if (rc == CW_OK)
        rc = copy_texts(doc, user, "user", copies, CW_ARRAY_LEN(copies), err);
    return rc;
}

static int read_context(yaml_document_t *doc, const char *wanted, struct cw_kubeconfig *config,
                        struct cw_err *err)
{
    const char *name = wanted, *cluster = NULL, *user = NULL, *name_space = NULL;
    yaml_node_t *context = NULL, *root = yaml_document_get_root_node(doc);
    int rc = wanted ? CW_OK : text_of(doc, root, "kubeconfig", "current-context", &name, err);

    if (rc == CW_OK && !name)
        rc = cw_err_set(err, CW_E_INVALID,
                        "it has no current-context (kubectl config use-context sets it)");
    if (rc == CW_OK)
        rc = find_named(doc, "contexts", "context", name, &context, err);
    if (rc == CW_OK)
        rc = text_of(doc, context, "context", "cluster", &cluster, err);
    if (rc == CW_OK)
        rc = text_of(doc, context, "context", "user", &user, err);
    if (rc == CW_OK)
        rc = text_of(doc, context, "context", "namespace", &name_space, err);
    if (rc == CW_OK && !cluster)
        rc = cw_err_set(err, CW_E_INVALID, "the context \"%.200s\" names no cluster", name);
    if (rc == CW_OK)
        rc = read_cluster(doc, cluster, config, err);
    if (rc == CW_OK && user)
        rc = read_user(doc, user, config, err);
    if (rc == CW_OK) {
        config->context = cw_mem_strdup(name);
        config->name_space = cw_mem_strdup(name_space);
    }
    return rc;
}

static int read_document(yaml_document_t *doc, const char *context, struct cw_kubeconfig *config,
                         struct cw_err *err)
{
    yaml_node_t *root = yaml_document_get_root_node(doc);

    if (!root || root->type != YAML_MAPPING_NODE)
        return cw_err_set(err, CW_E_INVALID, "it is no kubeconfig: a mapping is expected");
    return read_context(doc, context, config, err);
}

int cw_kubeconfig_parse(const char *text, size_t n, const char *context,
                        struct cw_kubeconfig *ret_config, struct cw_err *err)
{
    struct cw_kubeconfig config = {0};
    yaml_parser_t parser;
    yaml_document_t doc;
    int rc;

    CW_ASSERT(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (yaml_parser_load(&parser, &doc)) {
        rc = read_document(&doc, context, &config, err);
        yaml_document_delete(&doc);
    } else {
        rc = cw_err_set(err, CW_E_INVALID, "it is not YAML: line %zu: %s",
                        parser.problem_mark.line + 1, parser.problem ? parser.problem : "?");
    }
    yaml_parser_delete(&parser);
    if (rc == CW_OK)
        *ret_config = config;
    else
        cw_kubeconfig_fini(&config);
    return rc;
}

void cw_kubeconfig_fini(struct cw_kubeconfig *config)
{
    cw_mem_free(config->context);
    cw_mem_free(config->server);
    cw_mem_free(config->name_space);
    cw_mem_free(config->ca_file);
    cw_mem_free(config->ca_data);
    cw_mem_free(config->cert_file);
    cw_mem_free(config->cert_data);
    cw_mem_free(config->key_file);
    cw_kube_forget(config->key_data);
    cw_kube_forget(config->token);
    cw_mem_free(config->token_file);
    *config = (struct cw_kubeconfig){0};
}
