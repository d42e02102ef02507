/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the index of a WebDataset file: collects the wanted members with the numbers of their
 * samples, brings them into the order of the samples, and writes the codes. */
#include "format/webdataset_int.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

struct member {
    uint64_t offset, bytes;
    uint32_t sample;
    uint32_t field;
};
/* A key that was seen: its hash, and its sample + 1; 0: the place is free. */
struct seen {
    struct cw_hash hash;
    uint64_t sample;
};
struct scan {
    const struct cw_readable *file;
    const struct cw_wds_want *want;
    struct member *members;
    size_t n, cap;
    struct seen *seen; /* a hash table with linear probing */
    size_t seen_cap;   /* a power of 2 */
    uint64_t samples_n;
    struct cw_hash last_hash;
    uint32_t last_sample;
    bool is_mixed; /* a sample went on behind another one */
    struct cw_wds_index index;
    size_t codes_cap, marks_cap;
};

static int no_memory(const struct scan *s, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOMEM, "%s: no memory for an index of %zu members", s->file->name,
                      s->n);
}

/* Makes room for one more entry of so many bytes: the data decide how many there are. */
static int make_room(const struct scan *s, void **array, size_t n, size_t *cap, size_t bytes,
                     struct cw_err *err)
{
    if (n < *cap)
        return 0;
    size_t more = *cap ? *cap + *cap / 2 : 64;
    void *grown = cw_mem_try_grow(*array, more * bytes);
    if (!grown)
        return no_memory(s, err);
    *array = grown;
    *cap = more;
    return 0;
}

/* ---- keys ---- */

static struct seen *place_of(const struct scan *s, struct cw_hash hash)
{
    size_t at = (size_t)hash.lo & (s->seen_cap - 1);
    while (s->seen[at].sample != 0 && !cw_hash_eq(s->seen[at].hash, hash))
        at = (at + 1) & (s->seen_cap - 1);
    return &s->seen[at];
}

static int grow_seen(struct scan *s, struct cw_err *err)
{
    struct seen *old = s->seen;
    size_t old_cap = s->seen_cap, cap = old_cap ? 2 * old_cap : 64;
    if (s->samples_n * 2 < old_cap)
        return 0;
    struct seen *grown = cw_mem_try(cap * sizeof(*grown));
    if (!grown)
        return no_memory(s, err);
    memset(grown, 0, cap * sizeof(*grown));
    s->seen = grown;
    s->seen_cap = cap;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].sample != 0)
            *place_of(s, old[i].hash) = old[i];
    cw_mem_free(old);
    return 0;
}

/* Finds the sample of a key, or makes a new one. The bits of a hash of 128 bits decide: two keys fall
 * together by chance in one of 10^20 files of a billion samples. */
static int sample_of(struct scan *s, const char *key, size_t n, bool *ret_is_new,
                     struct cw_err *err)
{
    struct cw_hash hash = cw_hash_bytes(key, n);
    *ret_is_new = false;
    if (s->samples_n > 0 && cw_hash_eq(hash, s->last_hash))
        return 0;
    int rc = grow_seen(s, err);
    if (rc < 0)
        return rc;
    if (s->samples_n >= UINT32_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: more than %u samples", s->file->name, UINT32_MAX);
    struct seen *place = place_of(s, hash);
    *ret_is_new = place->sample == 0;
    s->is_mixed |= place->sample != 0;
    if (place->sample == 0)
        *place = (struct seen){hash, ++s->samples_n};
    s->last_hash = hash;
    s->last_sample = (uint32_t)(place->sample - 1);
    return 0;
}

/* ---- members ---- */

static int add_member(struct scan *s, uint64_t offset, uint64_t bytes, int field,
                      struct cw_err *err)
{
    void *members = s->members;
    int rc = make_room(s, &members, s->n, &s->cap, sizeof(*s->members), err);
    s->members = members;
    if (rc == 0)
        s->members[s->n++] = (struct member){offset, bytes, s->last_sample, (uint32_t)field};
    return rc;
}

static int take(struct scan *s, const struct cw_tar_member *m, struct cw_err *err)
{
    size_t key_n;
    bool is_new;
    if (!cw_wds_split(m->name, m->name_n, &key_n))
        return 0;
    int field = s->want->field_of(s->want->arg, m->name + key_n + 1, m->name_n - key_n - 1);
    if (field < 0)
        return 0;
    int rc = sample_of(s, m->name, key_n, &is_new, err);
    if (rc == 0 && is_new && s->want->key_field >= 0)
        rc = add_member(s, m->head, m->data - m->head, s->want->key_field, err);
    return rc < 0 ? rc : add_member(s, m->data, m->bytes, field, err);
}

static int collect(struct scan *s, struct cw_err *err)
{
    struct cw_tar_member member;
    struct cw_tar *tar = cw_tar_new(s->file, 0);
    int rc = 1;
    while (rc > 0) {
        rc = cw_tar_next(tar, &member, err);
        if (rc > 0) {
            int took = take(s, &member, err);
            rc = took < 0 ? took : 1;
        }
    }
    cw_tar_free(tar);
    return rc;
}

/* Brings the members into the order of their samples, those of one sample in the file's order. */
static int sort(struct scan *s, struct cw_err *err)
{
    if (!s->is_mixed)
        return 0;
    cw_autofree size_t *at = cw_mem_try((size_t)(s->samples_n + 1) * sizeof(*at));
    struct member *sorted = cw_mem_try(s->n * sizeof(*sorted));
    if (!at || !sorted) {
        cw_mem_free(sorted);
        return no_memory(s, err);
    }
    memset(at, 0, (size_t)(s->samples_n + 1) * sizeof(*at));
    for (size_t i = 0; i < s->n; i++)
        at[s->members[i].sample + 1]++;
    for (size_t i = 0; i < s->samples_n; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; i < s->n; i++)
        sorted[at[s->members[i].sample]++] = s->members[i];
    cw_mem_free(s->members);
    s->members = sorted;
    s->cap = s->n;
    return 0;
}

/* ---- codes ---- */

static void put_number(struct cw_wds_index *index, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        index->codes[index->codes_n++] = (uint8_t)(v | 0x80);
    index->codes[index->codes_n++] = (uint8_t)v;
}

static int put_member(struct scan *s, const struct member *m, bool is_last, uint64_t *block,
                      struct cw_err *err)
{
    enum { CODE_BYTES_MAX = 20 };
    void *codes = s->index.codes;
    int rc = make_room(s, &codes, s->index.codes_n + CODE_BYTES_MAX, &s->codes_cap, 1, err);
    s->index.codes = codes;
    if (rc < 0)
        return rc;
    uint64_t gap = m->offset / CW_TAR_BLOCK_BYTES - *block;
    uint64_t zigzag = (gap << 1) ^ (0 - (gap >> 63));
    put_number(&s->index, zigzag << (s->index.field_bits + 1) |
                              (uint64_t)is_last << s->index.field_bits | m->field);
    put_number(&s->index, m->bytes);
    *block = cw_wds_end_block(m->offset, m->bytes);
    return 0;
}

static int put_mark(struct scan *s, uint64_t block, struct cw_err *err)
{
    void *marks = s->index.marks;
    int rc = make_room(s, &marks, s->index.marks_n, &s->marks_cap, sizeof(*s->index.marks), err);
    s->index.marks = marks;
    if (rc == 0)
        s->index.marks[s->index.marks_n++] = (struct cw_wds_mark){s->index.codes_n, block};
    return rc;
}

/* Checks that no field comes twice in the sample of the n members, of which there are few. */
static int check_twice(const struct scan *s, const struct member *m, size_t n, struct cw_err *err)
{
    uint64_t has[CW_WDS_FIELDS_MAX / 64] = {0};
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << (m[i].field % 64);
        if (has[m[i].field / 64] & bit)
            return cw_err_set(err, CW_E_CORRUPT,
                              "%s: the member at byte %llu: its sample %u has this field already",
                              s->file->name, (unsigned long long)(m[i].offset - CW_TAR_BLOCK_BYTES),
                              m[i].sample);
        has[m[i].field / 64] |= bit;
    }
    return 0;
}

static int encode(struct scan *s, struct cw_err *err)
{
    uint64_t block = 0;
    int rc = 0;
    for (size_t i = 0, n; i < s->n && rc == 0; i += n) {
        for (n = 1; i + n < s->n && s->members[i + n].sample == s->members[i].sample;)
            n++;
        rc = check_twice(s, s->members + i, n, err);
        if (rc < 0 || (s->want->skip_incomplete && n < s->want->fields_n))
            continue;
        if (s->index.n++ % CW_WDS_SAMPLES_A_MARK == 0)
            rc = put_mark(s, block, err);
        for (size_t k = 0; k < n && rc == 0; k++)
            rc = put_member(s, &s->members[i + k], k + 1 == n, &block, err);
    }
    return rc;
}

/* Gives back what was allocated in advance. */
static void shrink(struct scan *s)
{
    void *codes = cw_mem_try_grow(s->index.codes, CW_MAX(s->index.codes_n, 1));
    void *marks =
        cw_mem_try_grow(s->index.marks, CW_MAX(s->index.marks_n, 1) * sizeof(*s->index.marks));
    s->index.codes = codes ? codes : s->index.codes;
    s->index.marks = marks ? marks : s->index.marks;
}

int cw_wds_scan(const struct cw_readable *file, const struct cw_wds_want *want,
                struct cw_wds_index *ret_index, struct cw_err *err)
{
    struct scan s = {.file = file, .want = want};
    CW_ASSERT(want->fields_n <= CW_WDS_FIELDS_MAX);
    while ((UINT64_C(1) << s.index.field_bits) < want->fields_n)
        s.index.field_bits++;
    int rc = collect(&s, err);
    if (rc == 0)
        rc = sort(&s, err);
    if (rc == 0)
        rc = encode(&s, err);
    cw_mem_free(s.members);
    cw_mem_free(s.seen);
    if (rc < 0) {
        cw_wds_index_fini(&s.index);
        return rc;
    }
    shrink(&s);
    *ret_index = s.index;
    return 0;
}
