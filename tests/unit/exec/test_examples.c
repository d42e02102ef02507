/* SPDX-License-Identifier: Apache-2.0 */
/* The pipelines of docs/examples, and some more, give the bytes whose hashes stand in example_hashes.txt, on every
 * architecture and at every level of instructions. With --print it writes that file anew: only where a pipeline was meant to
 * change. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "example_data.h"
#include "run.h"
#include "support/cm.h"

#define SEED 7
#define EPOCH 1

/* nodes: of a pipeline that is no example. */
static const struct {
    const char *name, *nodes;
} pipelines[] = {
    {"audio/speech", NULL},
    {"cedar/pipeline_coco", NULL},
    {"cedar/pipeline_common_voice", NULL},
    {"cedar/pipeline_simclr", NULL},
    {"cedar/pipeline_wikitext", NULL},
    {"class_folders", NULL},
    {"photos", NULL},
    {"tables/numbers", NULL},
    {"tables/wide", NULL},
    {"text/csv", NULL},
    {"text/next_token", NULL},
    {"text/parquet", NULL},
    {"text/pretraining", NULL},
    {"text/tokens", NULL},
    {"more/arrow_windows",
     "{'op':'arrow','pattern':'/data/more/"
     "arrow_{plain,lz4}.arrow','columns':['i32','text','word'],"
     "'types':{'i32':'i32','text':'str','word':'str'}},"
     "{'op':'shuffle','blocks':true,'window':100},{'op':'window','size':5,'shift':3},"
     "{'op':'step','every':2,'offset':1},{'op':'enumerate'},{'op':'batch','size':4}"},
    {"more/buckets",
     "{'op':'jsonl','pattern':'/data/more/json_[ab].jsonl','schema':['t = text: str'],'name':'a'},"
     "{'op':'webdataset','pattern':'/data/more/wds_plain.tar','columns':{'t':'jpg'},'name':'b'},"
     "{'op':'interleave','inputs':['a','b'],'block':2},{'op':'shuffle'},"
     "{'op':'bpe','vocab':'/data/models/vocab.json','merges':'/data/models/merges.txt'},"
     "{'op':'bucket_by_length','bounds':[8,16,32],'tokens':64,'step':2,'lengths':true,'span':50}"},
    {"more/groups",
     "{'op':'npy','pattern':'/data/more/"
     "npy_rows_*.npy','dtype':'f32','dims':[-1]},{'op':'repeat','count':9},"
     "{'op':'enumerate'},{'op':'shuffle'},{'op':'filter','expr':'position % 5 != 2'},"
     "{'op':'group_by_window','key':'position % 3','size':4,'span':30}"},
    {"more/mixed_images",
     "{'op':'idx','pattern':'/data/"
     "digits.idx','field':'image','dtype':'u8','dims':[3,2]},{'op':'repeat_each','count':7},"
     "{'op':'enumerate','field':'label'},{'op':'eval','expr':'label % 10','out':'label'},"
     "{'op':'cast','dtype':'f32','fields':['image']},{'op':'batch','size':8},"
     "{'op':'mixup','classes':10},{'op':'cutmix','classes':10,'p':0.5}"},
    {"more/packed",
     "{'op':'megatron','pattern':'/data/more/megatron_many.bin','dtype':'u16'},{'op':'shuffle'},"
     "{'op':'pack','length':24,'mode':'stream','loss_mask':'own','span':20},"
     "{'op':'batch','size':3,'within':'item'}"},
    {"more/records", "{'op':'tfrecord','pattern':['/data/more/packed.tfrecord.zst','/data/more/"
                     "records_*.tfrecord']},"
                     "{'op':'shuffle'},{'op':'repeat','count':4},{'op':'batch','size':5}"},
    {"more/word_lists",
     "{'op':'parquet','pattern':'/data/more/parquet_{zstd_v1,snappy_v2}.parquet',"
     "'columns':['few','f64','text'],'types':{'few':'i64','f64':'f64','text':'str'}"
     "},{'op':'eval','expr':'abs(few) + 1','out':'few'},"
     "{'op':'shuffle'},{'op':'repeat_each','count':2},{'op':'split_text'},"
     "{'op':'hash_bucket','buckets':1000,'fields':['text']},"
     "{'op':'batch','size':16,'ragged':['text']}"},
};

static struct cw_plan *plan_of_one(size_t i)
{
    if (!pipelines[i].nodes)
        return example_data_plan(pipelines[i].name, SEED);
    cw_autofree char *text = cw_mem_printf("{'pipeline':[%s]}", pipelines[i].nodes);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return example_data_plan_of(pipelines[i].name, text, SEED);
}

/* The hash of all batches of an epoch, which is that of two threads as well. */
static void hash_of(size_t i, char ret_text[CW_HASH_TEXT_BYTES])
{
    struct cw_plan *plan = plan_of_one(i);
    uint64_t rows = 0;
    const struct cw_hash here = hash_here(plan, EPOCH, CW_BAD_FAIL),
                         pool = hash_pool(plan, 2, EPOCH, CW_BAD_FAIL, &rows);
    cw_plan_unref(plan);
    assert_true(rows > 0);
    assert_true(cw_hash_eq(here, pool));
    cw_hash_text(here, ret_text);
}

/* Finds the stored hash of a pipeline; "" if there is none. */
static void find_stored(const char *wanted, char ret_text[CW_HASH_TEXT_BYTES])
{
    char hash[CW_HASH_TEXT_BYTES], name[64];
    FILE *file = fopen(CW_TEST_HASHES, "r");
    assert_non_null(file);
    *ret_text = 0;
    while (fscanf(file, "%32s %63s", hash, name) == 2)
        if (strcmp(name, wanted) == 0)
            memcpy(ret_text, hash, CW_HASH_TEXT_BYTES);
    assert_int_equal(fclose(file), 0);
}

static void hashes_are_those_that_are_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(pipelines); i++) {
        char hash[CW_HASH_TEXT_BYTES], stored[CW_HASH_TEXT_BYTES];
        hash_of(i, hash);
        find_stored(pipelines[i].name, stored);
        if (strcmp(stored, hash) != 0)
            fail_msg("%s: %s, and not %s", pipelines[i].name, hash, stored);
    }
}

static int make(void **state)
{
    (void)state;
    example_data_make(false); /* of lossy sound each architecture has its own */
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    example_data_remove();
    return 0;
}

static int print(void)
{
    example_data_make(false);
    for (size_t i = 0; i < CW_ARRAY_LEN(pipelines); i++) {
        char hash[CW_HASH_TEXT_BYTES];
        hash_of(i, hash);
        printf("%s %s\n", hash, pipelines[i].name);
    }
    example_data_remove();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hashes_are_those_that_are_stored)};
    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print();
    return cmocka_run_group_tests(tests, make, clean_up);
}
