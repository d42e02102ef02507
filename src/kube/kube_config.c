/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the API server, and reads certificates and tokens. */
#include "kube/kube_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/kube_file.h"
#include "kube/kubeconfig.h"

#define CONFIG_MAX ((size_t)4 << 20)
#define PEM_MAX ((size_t)1 << 20)
#define TOKEN_FILE_MAX ((size_t)64 << 10)

/* Checks and copies a server's URL: http or https, a host, perhaps a path; nothing that would make it
 * another's. */
static int copy_server(const char *url, char **ret, struct cw_err *err)
{
    size_t scheme = cw_str_starts(url, "https://") ? 8 : cw_str_starts(url, "http://") ? 7 : 0;
    size_t n = strlen(url);

    for (size_t i = 0; i < n; i++)
        if (url[i] <= ' ' || url[i] > '~' || strchr("@?#\\\"", url[i]))
            scheme = 0;
    while (n > scheme && url[n - 1] == '/')
        n--;
    if (scheme == 0 || n <= scheme || url[scheme] == '/')
        return cw_err_set(err, CW_E_INVALID,
                          "server \"%.200s\" is not http://HOST[:PORT] or https://HOST[:PORT]",
                          url);
    *ret = cw_mem_strndup(url, n);
    return CW_OK;
}

/* Returns a path that lies relative to a file. */
static char *beside(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');

    if (path[0] == '/' || !slash)
        return cw_mem_strdup(path);
    return cw_mem_printf("%.*s/%s", (int)(slash - file), file, path);
}

/* Reads a PEM text from data or a file; both NULL: there is none. `what` names the field. */
static int read_pem(const char *file, const char *data, const char *path, const char *what,
                    char **ret, struct cw_err *err)
{
    int rc = CW_OK;

    if (data) {
        rc = cw_kube_base64(data, ret, err);
    } else if (path) {
        cw_autofree char *where = beside(file, path);
        rc = cw_kube_file_read(where, PEM_MAX, ret, err);
    }
    if (rc == CW_OK && *ret && !strstr(*ret, "-----BEGIN "))
        rc = cw_err_set(err, CW_E_INVALID, "there is nothing in PEM form (-----BEGIN ...) in it");
    if (rc != CW_OK)
        cw_err_wrap(err, "%s%s", what, data ? "-data" : "");
    return rc;
}

static int check_token(struct cw_kube_config *config, struct cw_err *err)
{
    char *text = NULL;
    int rc = CW_OK;

    if (config->token_file)
        rc = cw_kube_file_read(config->token_file, TOKEN_FILE_MAX, &text, err);
    if (rc == CW_OK && text)
        rc = cw_kube_token_check(text, err);
    if (rc != CW_OK)
        cw_err_wrap(err, "token file %s", config->token_file);
    else if (!text && config->token)
        rc = cw_kube_token_check(config->token, err);
    cw_kube_forget(text);
    return rc;
}

static int take(const char *file, const struct cw_kubeconfig *from, struct cw_kube_config *config,
                struct cw_err *err)
{
    int rc = copy_server(from->server, &config->server, err);

    if (rc == CW_OK)
        rc =
            read_pem(file, from->ca_data, from->ca_file, "certificate-authority", &config->ca, err);
    if (rc == CW_OK)
        rc = read_pem(file, from->cert_data, from->cert_file, "client-certificate", &config->cert,
                      err);
    if (rc == CW_OK)
        rc = read_pem(file, from->key_data, from->key_file, "client-key", &config->key, err);
    if (rc == CW_OK && !config->cert != !config->key)
        rc = cw_err_set(err, CW_E_INVALID, "there is a %s but no %s",
                        config->cert ? "client-certificate" : "client-key",
                        config->cert ? "client-key" : "client-certificate");
    if (rc != CW_OK)
        return rc;
    config->token = cw_mem_strdup(from->token);
    config->token_file = from->token_file ? beside(file, from->token_file) : NULL;
    config->name_space = cw_mem_strdup(from->name_space ? from->name_space : "default");
    config->origin = cw_mem_printf("kubeconfig %s, context %s", file, from->context);
    return check_token(config, err);
}

int cw_kube_config_load(const char *file, const char *context, struct cw_kube_config *ret_config,
                        struct cw_err *err)
{
    struct cw_kubeconfig from = {0};
    struct cw_kube_config config = {0};
    char *text = NULL;
    int rc = cw_kube_file_read(file, CONFIG_MAX, &text, err);

    if (rc == CW_OK)
        rc = cw_kubeconfig_parse(text, strlen(text), context, &from, err);
    cw_kube_forget(text);
    if (rc == CW_OK)
        rc = take(file, &from, &config, err);
    cw_kubeconfig_fini(&from);
    if (rc == CW_OK) {
        *ret_config = config;
        return CW_OK;
    }
    cw_kube_config_fini(&config);
    cw_err_wrap(err, "kubeconfig %s", file);
    return rc;
}

static int pod_server(struct cw_kube_config *config, struct cw_err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");

    if (!host || !host[0] || !port || !port[0])
        return cw_err_set(err, CW_E_NOT_FOUND,
                          "this is no pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are "
                          "not set): give --kubeconfig FILE or $KUBECONFIG");
    bool is_v6 = strchr(host, ':') && host[0] != '[';
    cw_autofree char *url =
        cw_mem_printf("https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
    return copy_server(url, &config->server, err);
}

/* The namespace's file, or what the downward API has told, or "default". */
static void pod_namespace(const char *dir, struct cw_kube_config *config)
{
    cw_autofree char *path = cw_mem_printf("%s/namespace", dir);
    const char *told = getenv("CACHEW_POD_NAMESPACE");
    char *text = NULL;

    if (cw_kube_file_read(path, 256, &text, NULL) == CW_OK)
        text[strcspn(text, " \t\r\n")] = '\0';
    if (text && text[0])
        config->name_space = cw_mem_strdup(text);
    else
        config->name_space = cw_mem_strdup(told && told[0] ? told : "default");
    cw_mem_free(text);
}

int cw_kube_config_of_pod(const char *dir, struct cw_kube_config *ret_config, struct cw_err *err)
{
    struct cw_kube_config config = {0};
    cw_autofree char *ca = cw_mem_printf("%s/ca.crt", dir);
    int rc = pod_server(&config, err);

    if (rc == CW_OK)
        rc = read_pem("", NULL, ca, "ca.crt of the pod", &config.ca, err);
    if (rc == CW_OK) {
        config.token_file = cw_mem_printf("%s/token", dir);
        config.origin = cw_mem_strdup("this pod");
        pod_namespace(dir, &config);
        rc = check_token(&config, err);
    }
    if (rc == CW_OK)
        *ret_config = config;
    else
        cw_kube_config_fini(&config);
    return rc;
}

int cw_kube_config_find(const char *file, struct cw_kube_config *ret_config, struct cw_err *err)
{
    const char *told = getenv("KUBECONFIG");

    if (file)
        return cw_kube_config_load(file, NULL, ret_config, err);
    if (!told || !told[0])
        return cw_kube_config_of_pod(CW_KUBE_POD_DIR, ret_config, err);
    if (strchr(told, ':'))
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "$KUBECONFIG names several files: give the one that counts as "
                          "--kubeconfig FILE");
    return cw_kube_config_load(told, NULL, ret_config, err);
}

void cw_kube_config_fini(struct cw_kube_config *config)
{
    cw_mem_free(config->server);
    cw_mem_free(config->name_space);
    cw_mem_free(config->ca);
    cw_mem_free(config->cert);
    cw_kube_forget(config->key);
    cw_kube_forget(config->token);
    cw_mem_free(config->token_file);
    cw_mem_free(config->origin);
    *config = (struct cw_kube_config){0};
}
