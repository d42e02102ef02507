/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfig files. What is accepted has a server and a context. */
#include "base/mem.h"
#include "kube/kube_file.h"
#include "kube/kubeconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_kubeconfig config = {0};
    struct cw_err err = {0};
    char *text = NULL;
    if (cw_kubeconfig_parse((const char *)data, n, NULL, &config, &err) == CW_OK) {
        CW_ASSERT(config.server && config.context);
        if (config.ca_data && cw_kube_base64(config.ca_data, &text, NULL) == CW_OK)
            cw_mem_free(text);
    } else {
        CW_ASSERT(err.msg[0] != '\0');
    }
    cw_kubeconfig_fini(&config);
    return 0;
}
