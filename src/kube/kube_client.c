/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees clients. */
#include "base/mem.h"
#include "base/version.h"
#include "kube/kube_int.h"

#define TIMEOUT_MS 30000

int cw_kube_new(struct cw_loop *loop, const struct cw_kube_config *config,
                const struct cw_kube_options *options, struct cw_kube **ret_kube,
                struct cw_err *err)
{
    struct cw_http_identity identity = {config->ca, config->cert, config->key};
    cw_autofree char *agent = cw_mem_printf("cachew-%s/%s", options->program, CW_VERSION);
    struct cw_http_client *http = NULL;
    int rc = cw_http_client_new(loop, agent, &identity, &http, err);

    if (rc != CW_OK)
        return cw_err_wrap(err, "%s", config->origin ? config->origin : config->server);
    struct cw_kube *kube = CW_NEW(struct cw_kube);
    kube->loop = loop;
    kube->http = http;
    kube->options = *options;
    kube->options.program = NULL;
    if (kube->options.timeout_ms == 0)
        kube->options.timeout_ms = TIMEOUT_MS;
    kube->manager = cw_mem_printf("cachew-%s", options->program);
    kube->server = cw_mem_strdup(config->server);
    kube->name_space = cw_mem_strdup(config->name_space);
    cw_kube_token_init(&kube->token, config->token, config->token_file);
    *ret_kube = kube;
    return CW_OK;
}

void cw_kube_free(struct cw_kube *kube)
{
    if (!kube)
        return;
    while (kube->calls)
        cw_kube_call_cancel(kube->calls);
    cw_http_client_free(kube->http);
    cw_kube_token_fini(&kube->token);
    cw_strmap_fini(&kube->warnings);
    cw_mem_free(kube->server);
    cw_mem_free(kube->name_space);
    cw_mem_free(kube->manager);
    cw_mem_free(kube);
}

struct cw_loop *cw_kube_loop(const struct cw_kube *kube)
{
    return kube->loop;
}

const char *cw_kube_namespace(const struct cw_kube *kube)
{
    return kube->name_space;
}

const char *cw_kube_manager(const struct cw_kube *kube)
{
    return kube->manager;
}
