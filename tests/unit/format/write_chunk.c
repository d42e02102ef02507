/* SPDX-License-Identifier: Apache-2.0 */
/* write_chunk FILE LEVEL: a chunk for the reader in Python. check_reader.py says what is in it. */
#include <stdio.h>
#include <stdlib.h>

#include "support/chunks.h"

#define ELEMENTS_N 200

/* One field of each dtype with dims [k % 3, 2], a fixed one, a scalar, a string. */
static void make_spec(struct cw_spec *spec)
{
    const int64_t dims[2] = {-1, 2}, fixed[2] = {9, 9};
    for (int dtype = 0; dtype < CW_DTYPE_STR; dtype++) {
        char name[16];
        snprintf(name, sizeof(name), "f_%s", cw_dtype_name((enum cw_dtype)dtype));
        CW_ASSERT(cw_spec_add(spec, name, (enum cw_dtype)dtype, 2, dims, NULL) == 0);
    }
    CW_ASSERT(cw_spec_add(spec, "fixed", CW_DTYPE_I32, 2, fixed, NULL) == 0);
    CW_ASSERT(cw_spec_add(spec, "scalar", CW_DTYPE_I64, 0, NULL, NULL) == 0);
    CW_ASSERT(cw_spec_add(spec, "text", CW_DTYPE_STR, 0, NULL, NULL) == 0);
}

static struct cw_view view_of(enum cw_dtype dtype, int rank, int64_t a, int64_t b, void *data,
                              size_t bytes)
{
    return (struct cw_view){
        .dtype = dtype, .rank = rank, .dims = {a, b}, .data = data, .bytes = bytes};
}

int main(int argc, char **argv)
{
    static int32_t fixed[ELEMENTS_N][81];
    static int64_t scalars[ELEMENTS_N];
    static unsigned char bytes[ELEMENTS_N][32]; /* the fields without a fixed size begin here */
    static char texts[ELEMENTS_N][400];
    static struct cw_element elements[ELEMENTS_N];
    struct cw_chunk_head head = {.key = {0x1122334455667788u, 0x99aabbccddeeff00u}};
    if (argc != 3)
        return 2;
    make_spec(&head.spec);
    for (size_t k = 0; k < ELEMENTS_N; k++) {
        struct cw_element *e = &elements[k];
        int64_t rows = (int64_t)k % 3;
        e->id = 1000 * ((k * 77) % ELEMENTS_N);
        e->n = k % 10 == 9 ? SIZE_MAX : 15;
        for (size_t i = 0; i < sizeof(bytes[k]); i++)
            bytes[k][i] = (unsigned char)((k + i) % 2);
        for (int dtype = 0; dtype < CW_DTYPE_STR; dtype++)
            e->fields[dtype] = view_of((enum cw_dtype)dtype, 2, rows, 2, bytes[k],
                                       (size_t)rows * 2 * cw_dtype_bytes((enum cw_dtype)dtype));
        for (int i = 0; i < 81; i++)
            fixed[k][i] = (int32_t)k * 100 - i;
        e->fields[12] = view_of(CW_DTYPE_I32, 2, 9, 9, fixed[k], sizeof(fixed[k]));
        scalars[k] = -(int64_t)k;
        e->fields[13] = view_of(CW_DTYPE_I64, 0, 0, 0, &scalars[k], 8);
        memset(texts[k], 'a' + (int)(k % 26), sizeof(texts[k]));
        e->fields[14] = view_of(CW_DTYPE_STR, 0, 0, 0, texts[k], 2 * k);
    }
    struct cw_test_chunk chunk =
        cw_test_chunk_new(&head, elements, ELEMENTS_N, 30, (int)strtol(argv[2], NULL, 10));
    FILE *file = fopen(argv[1], "wb");
    bool ok =
        chunk.rc == 0 && file && fwrite(chunk.bytes.s, 1, chunk.bytes.len, file) == chunk.bytes.len;
    ok = file && fclose(file) == 0 && ok;
    cw_test_chunk_fini(&chunk);
    cw_spec_fini(&head.spec);
    return ok ? 0 : 1;
}
