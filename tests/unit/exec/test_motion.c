/* SPDX-License-Identifier: Apache-2.0 */
/* What moves together, through whole pipelines: each pixel of the image has a value of its own, and
 * each box is about one pixel and labelled with its value. Wherever the pixels go, the mask, which
 * begins as the same image, and the boxes with their labels must agree with the image. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/cm.h"
#include <string.h>

#define H 6
#define W 8
#define TIMES 40
#define MOVED "\"fields\":\"image\",\"masks\":\"mask\",\"boxes\":\"boxes\",\"labels\":\"labels\""

/* Appends the pixels [[1,2,...],...] of the image. */
static void add_image(struct cw_str *out)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            cw_str_addf(out, "%s%d%s",
                        x   ? ","
                        : y ? "],["
                            : "[[",
                        y * W + x + 1, y == H - 1 && x == W - 1 ? "]]" : "");
}

/* One element as often as it is to be drawn for. */
static void add_source(struct cw_str *out)
{
    cw_str_add(out, "{\"op\":\"from_values\",\"values\":[{\"image\":");
    add_image(out);
    cw_str_add(out, ",\"mask\":");
    add_image(out);
    cw_str_add(out, ",\"boxes\":[");
    for (int i = 0; i < H * W; i++)
        cw_str_addf(out, "%s[%d,%d,%d,%d]", i ? "," : "", i % W, i / W, i % W + 1, i / W + 1);
    cw_str_add(out, "],\"labels\":[");
    for (int i = 0; i < H * W; i++)
        cw_str_addf(out, "%s%d", i ? "," : "", i + 1);
    cw_str_addf(out,
                "]}]},{\"op\":\"repeat\",\"count\":%d},"
                "{\"op\":\"cast\",\"dtype\":\"u8\",\"fields\":[\"image\",\"mask\"]},"
                "{\"op\":\"cast\",\"dtype\":\"f32\",\"fields\":\"boxes\"},",
                TIMES);
}

static struct cw_plan *plan_with(const char *ops)
{
    CW_STR_AUTO text = {0};
    add_source(&text);
    cw_str_add(&text, ops);
    return plan_of(cw_str_text(&text), 11);
}

/* Output i of a plan. */
static struct cw_batch *output_of(struct cw_plan *plan, uint64_t i)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_exec_run(plan, 3, i, CW_BAD_FAIL, &batch, &err), 0);
    return batch;
}

enum { IMAGE, MASK, BOXES, LABELS };

static void mask_is_image(const struct cw_batch *batch)
{
    assert_int_equal(batch->tensors[IMAGE].bytes, batch->tensors[MASK].bytes);
    assert_memory_equal(cw_batch_data(batch, IMAGE), cw_batch_data(batch, MASK),
                        batch->tensors[IMAGE].bytes);
}

/* Each box is about the pixel of its label, and each pixel of the image has a box. */
static void boxes_are_pixels(const struct cw_batch *batch)
{
    const uint8_t *image = cw_batch_data(batch, IMAGE);
    const float *box = cw_batch_data(batch, BOXES);
    const int64_t *labels = cw_batch_data(batch, LABELS), *dims = batch->tensors[IMAGE].field.dims;
    int64_t pixels = 0;
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        pixels += image[i] != 0;
    assert_int_equal(batch->tensors[BOXES].field.dims[0], pixels);
    assert_int_equal(batch->tensors[LABELS].field.dims[0], pixels);
    for (int64_t i = 0; i < pixels; i++, box += 4) {
        assert_true(box[2] - box[0] == 1 && box[3] - box[1] == 1); // NOLINT: whole numbers
        assert_int_equal(image[(int64_t)box[1] * dims[1] + (int64_t)box[0]], labels[i]);
    }
}

static void boxes_and_masks_follow_pixels(void **state)
{
    (void)state;
    static const char *const chains[] = {
        "{\"op\":\"random_flip\"," MOVED "}",
        "{\"op\":\"random_crop\",\"size\":[3,4]," MOVED "}",
        "{\"op\":\"center_crop\",\"size\":[9,3]," MOVED "}",
        "{\"op\":\"pad\",\"padding\":[1,2,3,0]," MOVED "}",
        "{\"op\":\"zoom_out\",\"side\":[1,2]," MOVED "}",
        "{\"op\":\"iou_crop\",\"overlaps\":[0,0.04,1]," MOVED "}",
        "{\"op\":\"random_flip\",\"direction\":\"vertical\"," MOVED "},"
        "{\"op\":\"pad\",\"padding\":2," MOVED "},{\"op\":\"random_crop\",\"size\":5," MOVED "},"
        "{\"op\":\"random_flip\"," MOVED "}"};
    for (size_t k = 0; k < CW_ARRAY_LEN(chains); k++) {
        struct cw_plan *plan = plan_with(chains[k]);
        for (uint64_t i = 0; i < TIMES; i++) {
            struct cw_batch *batch = output_of(plan, i);
            mask_is_image(batch);
            boxes_are_pixels(batch);
            cw_batch_unref(batch);
        }
        cw_plan_unref(plan);
    }
}

/* In a batch the last operator writes to the rows' slots: so do those that move with its image. */
static void slots_are_filled(void **state)
{
    (void)state;
    static const char chain[] = "{\"op\":\"random_flip\"," MOVED "},"
                                "{\"op\":\"rotate\",\"degrees\":180," MOVED "},"
                                "{\"op\":\"random_crop\",\"size\":[3,4]," MOVED "},"
                                "{\"op\":\"batch\",\"size\":8,\"ragged\":true}";
    struct cw_plan *plan = plan_with(chain);
    uint64_t differ = 0;
    for (uint64_t i = 0; i < TIMES / 8; i++) {
        struct cw_batch *batch = output_of(plan, i);
        const uint8_t *rows = cw_batch_data(batch, IMAGE);
        mask_is_image(batch);
        assert_int_equal(batch->tensors[IMAGE].bytes, 8 * 12);
        for (size_t r = 1; r < 8; r++)
            differ += memcmp(rows, rows + 12 * r, 12) != 0;
        cw_batch_unref(batch);
    }
    assert_true(differ > TIMES / 2);
    cw_plan_unref(plan);
}

/* Of images that are turned upright only the part that a crop needs is decoded, with the same
 * result: what stands between decoder and crop in the second pipeline needs the whole image. */
static void parts_of_turned_images_are_the_same(void **state)
{
    (void)state;
    static const char decode[] =
        "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/file_turned[1-8].jpg\"},"
        "{\"op\":\"repeat\",\"count\":20},{\"op\":\"read_file\"},"
        "{\"op\":\"decode_image\",\"orientation\":\"apply\"},";
    static const char crop[] = "{\"op\":\"random_crop\",\"name\":\"crop\",\"size\":[5,9]}";
    CW_STR_AUTO part = {0};
    CW_STR_AUTO whole = {0};
    cw_str_addf(&part, "%s%s", decode, crop);
    cw_str_addf(&whole, "%s{\"op\":\"sharpness\",\"factor\":1,\"p\":0},%s", decode, crop);
    struct cw_plan *a = plan_of(cw_str_text(&part), 5), *b = plan_of(cw_str_text(&whole), 5);
    assert_int_equal(a->nodes[3].want_n, 1);
    assert_int_equal(b->nodes[3].want_n, 0);
    const struct cw_hash x = hash_here(a, 0, CW_BAD_FAIL), y = hash_here(b, 0, CW_BAD_FAIL);
    assert_memory_equal(&x, &y, sizeof(x));
    cw_plan_unref(a);
    cw_plan_unref(b);
}

/* The same where masks and boxes move with the image: they are whole while it is a part. */
static void what_moves_with_parts_is_the_same(void **state)
{
    (void)state;
    static const char decode[] = "{\"op\":\"coco\",\"pattern\":\"" CW_TEST_IMAGES
                                 "/coco_files.json\",\"images\":\"" CW_TEST_IMAGES
                                 "\",\"masks\":\"objects\"},{\"op\":\"repeat\",\"count\":20},"
                                 "{\"op\":\"read_file\",\"fields\":\"path\"},{\"op\":\"decode_"
                                 "image\",\"fields\":\"bytes\"},";
    static const char move[] =
        "{\"op\":\"resize\",\"size\":[12,20]," MOVED "},"
        "{\"op\":\"random_flip\",\"name\":\"flip\"," MOVED "},"
        "{\"op\":\"pad\",\"padding\":3," MOVED "},"
        "{\"op\":\"random_crop\",\"name\":\"crop\",\"size\":[5,9]," MOVED "}";
    CW_STR_AUTO part = {0};
    CW_STR_AUTO whole = {0};
    cw_str_addf(&part, "%s%s", decode, move);
    cw_str_addf(&whole, "%s{\"op\":\"sharpness\",\"factor\":1,\"p\":0,\"fields\":\"image\"},%s",
                decode, move);
    struct cw_plan *a = plan_of(cw_str_text(&part), 5), *b = plan_of(cw_str_text(&whole), 5);
    assert_int_equal(a->nodes[3].want_n, 4);
    assert_int_equal(b->nodes[3].want_n, 0);
    const struct cw_hash x = hash_here(a, 0, CW_BAD_FAIL), y = hash_here(b, 0, CW_BAD_FAIL);
    assert_memory_equal(&x, &y, sizeof(x));
    cw_plan_unref(a);
    cw_plan_unref(b);
}

/* The same where a mask of its own shares the crop with the image: both are fields that are cut. */
static void a_mask_that_shares_the_crop_is_the_same(void **state)
{
    (void)state;
    static const char decode[] = "{\"op\":\"coco\",\"pattern\":\"" CW_TEST_IMAGES
                                 "/coco_files.json\",\"images\":\"" CW_TEST_IMAGES
                                 "\",\"masks\":\"objects\"},{\"op\":\"repeat\",\"count\":20},"
                                 "{\"op\":\"read_file\",\"fields\":\"path\"},{\"op\":\"decode_"
                                 "image\",\"fields\":\"bytes\"},";
    static const char move[] =
        "{\"op\":\"random_crop\",\"name\":\"crop\",\"size\":[5,9],\"fields\":[\"image\",\"mask\"]}";
    CW_STR_AUTO part = {0};
    CW_STR_AUTO whole = {0};
    cw_str_addf(&part, "%s%s", decode, move);
    cw_str_addf(&whole, "%s{\"op\":\"sharpness\",\"factor\":1,\"p\":0,\"fields\":\"image\"},%s",
                decode, move);
    struct cw_plan *a = plan_of(cw_str_text(&part), 5), *b = plan_of(cw_str_text(&whole), 5);
    assert_int_equal(a->nodes[3].want_n, 1);
    assert_int_equal(b->nodes[3].want_n, 0);
    const struct cw_hash x = hash_here(a, 0, CW_BAD_FAIL), y = hash_here(b, 0, CW_BAD_FAIL);
    assert_memory_equal(&x, &y, sizeof(x));
    cw_plan_unref(a);
    cw_plan_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_and_masks_follow_pixels),
                                       cmocka_unit_test(slots_are_filled),
                                       cmocka_unit_test(parts_of_turned_images_are_the_same),
                                       cmocka_unit_test(what_moves_with_parts_is_the_same),
                                       cmocka_unit_test(a_mask_that_shares_the_crop_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
