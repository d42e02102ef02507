/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey has found out, as other workers and manifests tell it. */
#include <string.h>

#include "base/mem.h"
#include "ops/index/fates.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The first byte says of how many elements. */
static void read_fates(const uint8_t *data, size_t n, enum cw_fates_kind kind)
{
    struct cw_fates fates;
    CW_STR_AUTO again = {0};
    CW_STR_AUTO text = {0};
    if (!cw_fates_read(data + 1, n - 1, data[0] >> 1, kind, &fates))
        return;
    CW_ASSERT(cw_fates_count(fates.kept, fates.n) + cw_fates_count(fates.bad, fates.n) <= fates.n);
    cw_fates_write(&fates, &again);
    CW_ASSERT(again.len == n - 1 && (n == 1 || memcmp(again.s, data + 1, n - 1) == 0));
    cw_hex_add(data, n, &text);
    cw_autofree uint8_t *bytes = cw_mem_new(n);
    CW_ASSERT(cw_hex_read(cw_str_text(&text), bytes, n) && memcmp(bytes, data, n) == 0);
    cw_fates_fini(&fates);
}

static void read_note(const uint8_t *data, size_t n)
{
    struct cw_value manifest = {0}, again = {0};
    struct cw_survey_note note, same;
    if (cw_value_parse((const char *)data, n, "fuzz", &manifest, NULL) == 0 &&
        cw_survey_note_read(&manifest, &note, NULL) == 0) {
        cw_value_set_object(&again);
        cw_survey_note_write(&note, &again);
        CW_ASSERT(cw_survey_note_read(&again, &same, NULL) == 0);
        CW_ASSERT(same.n == note.n && cw_hash_eq(same.sum, note.sum));
        cw_survey_note_fini(&note);
        cw_survey_note_fini(&same);
    }
    cw_value_fini(&manifest);
    cw_value_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0) { /* the first byte says, too, whether there are values */
        read_fates(data, n, data[0] & 1 ? CW_FATES_VALUES : CW_FATES_ALONE);
        read_fates(data, n, CW_FATES_PARTS);
    }
    read_note(data, n);
    return 0;
}
