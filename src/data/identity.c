/* SPDX-License-Identifier: Apache-2.0 */
/* The words for the identities of files, and what each identity cannot notice. */
#include "data/identity.h"

#include "base/str.h"

static const char *const names[CW_IDENTITY_N] = {"mtime", "size", "sample", "content"};

const char *cw_identity_name(enum cw_identity identity)
{
    return (unsigned)identity < CW_IDENTITY_N ? names[identity] : "unknown";
}

int cw_identity_parse(const char *word, const char *what, enum cw_identity *ret_identity,
                      struct cw_err *err)
{
    for (int i = 0; i < CW_IDENTITY_N; i++) {
        if (!cw_str_eq(word, names[i]))
            continue;
        *ret_identity = (enum cw_identity)i;
        return 0;
    }
    return cw_err_set(err, CW_E_INVALID, "%s: \"%.40s\" is none of mtime, size, sample, content",
                      what, word);
}

const char *cw_identity_blind(enum cw_identity identity)
{
    if (identity == CW_IDENTITY_SIZE)
        return "identity size does not notice a file whose bytes changed and whose size is the "
               "same";
    if (identity == CW_IDENTITY_SAMPLE)
        return "identity sample does not notice a file of the same size that changed only between "
               "the places that it looks at";
    return NULL;
}
