/* SPDX-License-Identifier: Apache-2.0 */
/* Which scanner a pattern stands for. */
#include "ops/text/scan.h"

#include <string.h>

#define CASED_TAIL "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define SPACES "\\s+(?!\\S)|\\s+"

/* The patterns as their authors publish them, in the files of models and in tiktoken. */
static const struct {
    const char *name;
    cw_scan_fn *scan;
    const char *text; /* NULL: only the name */
} scanners[] = {
    {"gpt2", cw_scan_gpt2,
     "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES},
    {"gpt2", cw_scan_gpt2,
     "'(?:[sdmt]|ll|ve|re)| ?\\p{L}++| ?\\p{N}++| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s"},
    {"gpt2", cw_scan_gpt2,
     "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES},
    {"cl100k", cw_scan_cl100k,
     "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++"
     "[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
    {"llama3", cw_scan_llama3,
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" BEFORE "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|" SPACES},
    {"qwen2", cw_scan_qwen2,
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" BEFORE "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
     "\\s*[\\r\\n]+|" SPACES},
    {"o200k", cw_scan_o200k,
     BEFORE CAPITALS "*" SMALL "+" CASED_TAIL "|" BEFORE CAPITALS "+" SMALL "*" CASED_TAIL
                     "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|" SPACES},
    {"none", cw_scan_none, NULL},
};

const char *cw_scan_published(const char *pattern)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(scanners); i++)
        if (scanners[i].text && strcmp(scanners[i].text, pattern) == 0)
            return scanners[i].name;
    return NULL;
}

int cw_scan_init(struct cw_scan *scan, const char *pattern, struct cw_err *err)
{
    *scan = (struct cw_scan){0};
    for (size_t i = 0; i < CW_ARRAY_LEN(scanners); i++) {
        if (strcmp(scanners[i].name, pattern) == 0 ||
            (scanners[i].text && strcmp(scanners[i].text, pattern) == 0)) {
            scan->scan = scanners[i].scan;
            return 0;
        }
    }
    return cw_regex_new(pattern, &scan->regex, err);
}

void cw_scan_fini(struct cw_scan *scan)
{
    cw_regex_free(scan->regex);
    scan->regex = NULL;
}
