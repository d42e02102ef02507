/* SPDX-License-Identifier: Apache-2.0 */
/* A small trainer: softmax regression on Fashion-MNIST, fed by cachew.
 *
 *     trainer DATA_DIR [DISPATCHER [EPOCHS]]
 *
 * Compile it with `cc -O3 trainer.c $(pkg-config --cflags --libs cachew) -lm`.
 *
 * DATA_DIR holds the four idx files (Debian: /usr/share/datasets/fashion-mnist). DISPATCHER
 * defaults to "local:", a private service that needs no set-up; give HOST:PORT to train from a
 * cluster: nothing else changes. */
#include <cachew/cachew.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIXELS = 28 * 28, CLASSES = 10, BATCH = 100 };

struct model {
    float w[CLASSES][PIXELS], b[CLASSES];   /* weights */
    float vw[CLASSES][PIXELS], vb[CLASSES]; /* momentum */
};

/* What must never happen: counted from the batches' own numbers. */
struct tally {
    uint64_t next, lost, repeated;
};

static void die(const struct cachew_error *error)
{
    fprintf(stderr, "trainer: %s\n", error->message);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* images and labels, zipped, shuffled when training, as floats, in batches. */
static struct cachew_pipeline *build(const char *dir, const char *set, int training)
{
    char images[4096], labels[4096];
    snprintf(images, sizeof images, "%s/%s-images-idx3-ubyte.gz", dir, set);
    snprintf(labels, sizeof labels, "%s/%s-labels-idx1-ubyte.gz", dir, set);

    struct cachew_builder *b = cachew_builder_new(set);
    cachew_add(b, "idx");
    cachew_set_name(b, "images");
    cachew_set_str(b, "pattern", images);
    cachew_set_str(b, "field", "image");
    cachew_add(b, "idx");
    cachew_set_name(b, "labels");
    cachew_set_str(b, "pattern", labels);
    cachew_set_str(b, "field", "label");
    cachew_add(b, "zip");
    cachew_add_input(b, "images");
    cachew_add_input(b, "labels");
    if (training)
        cachew_add(b, "shuffle");
    cachew_add(b, "eval");
    cachew_set_str(b, "expr", "image / 255.0 - 0.2860");
    cachew_add(b, "cast");
    cachew_add_field(b, "image");
    cachew_set_str(b, "dtype", "f32");
    cachew_add(b, "batch");
    cachew_set_i64(b, "size", BATCH);

    struct cachew_pipeline *pipeline = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    if (cachew_builder_finish(b, &pipeline, &error) < 0)
        die(&error);
    return pipeline;
}

/* Class scores of one image -> probabilities; returns the likeliest class. */
static int predict(const struct model *m, const float *x, float p[CLASSES])
{
    int best = 0;
    float sum = 0;
    for (int c = 0; c < CLASSES; c++) {
        float lanes[8] = {0};
        for (int i = 0; i < PIXELS; i += 8)
            for (int k = 0; k < 8; k++)
                lanes[k] += m->w[c][i + k] * x[i + k];
        p[c] = m->b[c];
        for (int k = 0; k < 8; k++)
            p[c] += lanes[k];
        if (p[c] > p[best])
            best = c;
    }
    float top = p[best];
    for (int c = 0; c < CLASSES; c++)
        sum += p[c] = expf(p[c] - top);
    for (int c = 0; c < CLASSES; c++)
        p[c] /= sum;
    return best;
}

static void train_step(struct model *m, const float *images, const unsigned char *labels, size_t n,
                       float rate)
{
    static float gw[CLASSES][PIXELS];
    float gb[CLASSES] = {0}, p[CLASSES];
    memset(gw, 0, sizeof gw);
    for (size_t k = 0; k < n; k++) {
        const float *x = images + k * PIXELS;
        predict(m, x, p);
        for (int c = 0; c < CLASSES; c++) {
            float g = (p[c] - (float)(c == labels[k])) / (float)n;
            gb[c] += g;
            for (int i = 0; i < PIXELS; i++)
                gw[c][i] += g * x[i];
        }
    }
    for (int c = 0; c < CLASSES; c++) {
        m->vb[c] = 0.9f * m->vb[c] - rate * gb[c];
        m->b[c] += m->vb[c];
        for (int i = 0; i < PIXELS; i++) {
            m->vw[c][i] = 0.9f * m->vw[c][i] - rate * gw[c][i];
            m->w[c][i] += m->vw[c][i];
        }
    }
}

static void tensors(const struct cachew_batch *batch, const float **ret_images,
                    const unsigned char **ret_labels)
{
    struct cachew_tensor image, label;
    if (cachew_batch_find(batch, "image", &image) < 0 ||
        cachew_batch_find(batch, "label", &label) < 0 || image.dtype != CACHEW_F32 ||
        label.dtype != CACHEW_U8) {
        fprintf(stderr, "trainer: a batch without image (f32) and label (u8)\n");
        exit(1);
    }
    *ret_images = image.data;
    *ret_labels = label.data;
}

static void count(struct tally *tally, const struct cachew_batch *batch)
{
    uint64_t number = cachew_batch_number(batch);
    if (number > tally->next)
        tally->lost += number - tally->next;
    if (number < tally->next)
        tally->repeated++;
    tally->next = number + 1;
}

static struct cachew_job *start(struct cachew_client *client, struct cachew_pipeline *pipeline,
                                uint64_t epochs)
{
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    options.seed = 42;
    options.epochs = epochs;
    struct cachew_job *job = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    if (cachew_job_start(client, pipeline, &options, &job, &error) < 0)
        die(&error);
    cachew_pipeline_release(pipeline);
    return job;
}

/* Returns images per second. */
static double train(struct cachew_client *client, struct model *m, const char *dir, uint64_t epochs,
                    struct tally *tally)
{
    struct cachew_job *job = start(client, build(dir, "train", 1), epochs);
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_batch *batch;
    double began = now(), images_n = 0;
    for (uint64_t epoch = 0; epoch < epochs; epoch++) {
        double epoch_began = now();
        uint64_t batches = 0, images = 0;
        int rc;
        tally->next = 0;
        while ((rc = cachew_job_next(job, -1, &batch, &error)) == 1) {
            const float *x;
            const unsigned char *y;
            count(tally, batch);
            tensors(batch, &x, &y);
            train_step(m, x, y, cachew_batch_elements(batch), 0.05f / (float)(1 + epoch / 2));
            images += cachew_batch_elements(batch);
            batches++;
            cachew_batch_release(batch);
        }
        if (rc < 0)
            die(&error);
        images_n += (double)images;
        printf("epoch %llu: %llu images in %llu batches, %.0f images/s\n",
               (unsigned long long)epoch, (unsigned long long)images, (unsigned long long)batches,
               (double)images / (now() - epoch_began));
        fflush(stdout);
    }
    cachew_job_close(job);
    return images_n / (now() - began);
}

static double accuracy(struct cachew_client *client, const struct model *m, const char *dir)
{
    struct cachew_job *job = start(client, build(dir, "t10k", 0), 1);
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_batch *batch;
    uint64_t right = 0, all = 0;
    int rc;
    while ((rc = cachew_job_next(job, -1, &batch, &error)) == 1) {
        const float *x;
        const unsigned char *y;
        float p[CLASSES];
        tensors(batch, &x, &y);
        for (uint64_t k = 0; k < cachew_batch_elements(batch); k++)
            right += predict(m, x + k * PIXELS, p) == y[k];
        all += cachew_batch_elements(batch);
        cachew_batch_release(batch);
    }
    if (rc < 0)
        die(&error);
    cachew_job_close(job);
    return all ? (double)right / (double)all : 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: trainer DATA_DIR [DISPATCHER [EPOCHS]]\n");
        return 2;
    }
    struct cachew_client *client = NULL;
    struct cachew_error error = CACHEW_ERROR_INIT;
    if (cachew_connect(argc > 2 ? argv[2] : "local:", NULL, &client, &error) < 0)
        die(&error);
    static struct model model;
    struct tally tally = {0, 0, 0};
    double rate =
        train(client, &model, argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) : 5, &tally);
    double held_out = accuracy(client, &model, argv[1]);
    cachew_disconnect(client);
    printf("trainer: accuracy=%.4f samples_per_s=%.0f batches_lost=%llu batches_repeated=%llu\n",
           held_out, rate, (unsigned long long)tally.lost, (unsigned long long)tally.repeated);
    return 0;
}
