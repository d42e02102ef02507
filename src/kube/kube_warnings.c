/* SPDX-License-Identifier: Apache-2.0 */
/* What servers warn of, in Warning headers. */
#include <string.h>

#include "kube/kube_int.h"

#define WARNINGS_MAX 256 /* so many texts are remembered; further ones are not told */

/* `299 - "text"`: what is between the first and the last quote. */
static void cut_warning(char *text)
{
    char *first = strchr(text, '"'), *last = strrchr(text, '"');

    if (!first || first == last)
        return;
    *last = '\0';
    memmove(text, first + 1, strlen(first + 1) + 1);
}

void cw_kube_tell_warnings(struct cw_kube *kube, const struct cw_http_response *response)
{
    char text[1024];

    for (size_t i = 0; cw_http_header(response, "Warning", i, text, sizeof(text)); i++) {
        cut_warning(text);
        if (!kube->options.warned || kube->warnings.n >= WARNINGS_MAX ||
            cw_strmap_get(&kube->warnings, text))
            continue;
        cw_strmap_set(&kube->warnings, text, kube);
        kube->options.warned(kube->options.arg, text);
    }
}
