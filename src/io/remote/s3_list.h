/* SPDX-License-Identifier: Apache-2.0 */
/* A page of a list of objects, as S3 answers (ListObjectsV2). Pure. */
#ifndef CW_IO_REMOTE_S3_LIST_H
#define CW_IO_REMOTE_S3_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Called for each object. What is not CW_OK ends the parsing with that error. */
typedef int cw_s3_object_fn(void *arg, const char *key, int64_t size, const char *etag,
                            struct cw_err *err);
/* Parses a page, whose keys are encoded for URLs. *ret_next is the token of the next page; NULL: this
 * is the last one. CORRUPT: it is no such page. */
int cw_s3_list_parse(const char *text, size_t n, cw_s3_object_fn *fn, void *arg, char **ret_next,
                     struct cw_err *err);
/* Finds the text of the first element of that name in an answer, such as a refusal, which need not be whole.
 * Returns its length; 0: there is none, or it is empty. */
size_t cw_s3_element(const char *body, const char *name, const char **ret_text);

#endif
