/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHEW_PIPELINE_H
#define CACHEW_PIPELINE_H

#include <stddef.h>
#include <stdint.h>
#include "cachew/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An immutable description of an input pipeline. Refcounted; any thread may use it at once.
 * Operators and their options are checked when a job is started (or by `cachew check`), where
 * the operators are known. */
struct cachew_pipeline;

/* Reads the text form (docs/pipelines.md) from a file or from memory. The caller releases
 * *ret_pipeline. */
int cachew_pipeline_load(const char *path, struct cachew_pipeline **ret_pipeline,
                         struct cachew_error *error);
int cachew_pipeline_parse(const char *json, size_t length, struct cachew_pipeline **ret_pipeline,
                          struct cachew_error *error);
/* The text form; free() it. NULL when memory is short. */
char *cachew_pipeline_text(const struct cachew_pipeline *pipeline);
/* NULL is accepted. */
void cachew_pipeline_release(struct cachew_pipeline *pipeline);

/* Building one in C. Calls chain; the first error sticks and cachew_builder_finish reports it.
 * One thread at a time.
 *
 *     struct cachew_builder *b = cachew_builder_new("photos");
 *     cachew_add(b, "files");         cachew_set_str(b, "pattern", "/data/photos/x.jpg");
 *     cachew_add(b, "read_file");
 *     cachew_add(b, "decode_image");  cachew_set_i64(b, "channels", 3);
 *     cachew_add(b, "batch");         cachew_set_i64(b, "size", 64);
 *     cachew_builder_finish(b, &pipeline, &error); */
struct cachew_builder;
struct cachew_builder *cachew_builder_new(const char *name);
/* Appends an operator that reads from the one before (a source reads from none). */
void cachew_add(struct cachew_builder *builder, const char *op);
/* The following are about the operator added last. */
void cachew_set_name(struct cachew_builder *builder, const char *name);
/* Reads from this named operator instead of the one before; call it again for further inputs.
 * NULL: reads from none, which goes without saying for a source. */
void cachew_add_input(struct cachew_builder *builder, const char *name);
/* Works on this named tensor only; call it again for more. */
void cachew_add_field(struct cachew_builder *builder, const char *field);
void cachew_set_keep_position(struct cachew_builder *builder);
void cachew_add_depends_on(struct cachew_builder *builder, const char *name);
void cachew_set_i64(struct cachew_builder *builder, const char *option, int64_t value);
void cachew_set_f64(struct cachew_builder *builder, const char *option, double value);
void cachew_set_bool(struct cachew_builder *builder, const char *option, int value);
void cachew_set_str(struct cachew_builder *builder, const char *option, const char *value);
void cachew_set_i64s(struct cachew_builder *builder, const char *option, const int64_t *values,
                     size_t n);
void cachew_set_f64s(struct cachew_builder *builder, const char *option, const double *values,
                     size_t n);
void cachew_set_strs(struct cachew_builder *builder, const char *option, const char *const *values,
                     size_t n);
/* Any JSON text. */
void cachew_set_json(struct cachew_builder *builder, const char *option, const char *json);
/* Frees the builder, also on failure. */
int cachew_builder_finish(struct cachew_builder *builder, struct cachew_pipeline **ret_pipeline,
                          struct cachew_error *error);
/* Gives up. NULL is accepted. */
void cachew_builder_free(struct cachew_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
