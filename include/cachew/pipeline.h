/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CACHEW_PIPELINE_H
#define CACHEW_PIPELINE_H

#include <stddef.h>
#include <stdint.h>
#include "cachew/error.h"
#include "cachew/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An immutable description of an input pipeline (docs/pipelines.md). Several threads may use it at
 * once. The library checks the form of a pipeline only: operators and their options are checked
 * when a job is started, by the dispatcher (or beforehand by cachew_pipeline_check and the command
 * `cachew check`). */
struct cachew_pipeline;

/* Reads the text form (JSON, at most 64 MiB) from the file `path`. The caller releases
 * *ret_pipeline with cachew_pipeline_release. Errors: the file cannot be read (CACHEW_E_NOT_FOUND,
 * _DENIED, _IO), or the text is wrong (CACHEW_E_INVALID; the message names line or node). Any
 * thread. */
int cachew_pipeline_load(const char *path, struct cachew_pipeline **ret_pipeline,
                         struct cachew_error *error);
/* The same from memory: `length` bytes at `json`, which need not end with NUL and may be freed
 * afterwards. */
int cachew_pipeline_parse(const char *json, size_t length, struct cachew_pipeline **ret_pipeline,
                          struct cachew_error *error);
/* The text form of a pipeline, which the caller frees with free(). NULL if pipeline is NULL or
 * memory is short. Any thread. */
char *cachew_pipeline_text(const struct cachew_pipeline *pipeline);
/* Gives up the caller's reference. Jobs that were started with the pipeline keep their own. NULL is
 * accepted. Any thread. */
void cachew_pipeline_release(struct cachew_pipeline *pipeline);

/* Building a pipeline in C, operator by operator. The functions copy all texts and arrays that they
 * are given. They return nothing: the first error is kept, later calls do nothing, and
 * cachew_builder_finish reports it. One builder is for one thread at a time.
 *
 *     struct cachew_builder *b = cachew_builder_new("photos");
 *     cachew_add(b, "files");         cachew_set_str(b, "pattern", "/data/photos/x.jpg");
 *     cachew_add(b, "read_file");
 *     cachew_add(b, "decode_image");  cachew_set_i64(b, "channels", 3);
 *     cachew_add(b, "batch");         cachew_set_i64(b, "size", 64);
 *     cachew_builder_finish(b, &pipeline, &error); */
struct cachew_builder;
/* A new builder. name: of the pipeline, NULL = none. It is freed by cachew_builder_finish or
 * cachew_builder_free. Never NULL. */
struct cachew_builder *cachew_builder_new(const char *name);
/* Appends an operator by its name, as `cachew ops` lists it. It reads from the operator that was
 * added before it, unless cachew_add_input says otherwise; a source reads from none. */
void cachew_add(struct cachew_builder *builder, const char *op);
/* The following functions are about the operator that was added last. */

/* The name of the node, unique in the pipeline: 1 to 128 bytes without quotes or control
 * characters. Without it the node is named after its operator. */
void cachew_set_name(struct cachew_builder *builder, const char *name);
/* The operator reads from the node with this name instead of the one before it; call it again for
 * further inputs. NULL: it reads from none (a source needs no such call). */
void cachew_add_input(struct cachew_builder *builder, const char *name);
/* The operator works on the field with this name only, not on all that it can work on; call it
 * again for further fields. */
void cachew_add_field(struct cachew_builder *builder, const char *field);
/* An optimizer must not move the operator to another place of the pipeline. */
void cachew_set_keep_position(struct cachew_builder *builder);
/* The node with this name must stay before the operator when an optimizer moves it; call it again
 * for further names. */
void cachew_add_depends_on(struct cachew_builder *builder, const char *name);
/* Set an option of the operator, by its name: to a number, true (not 0) or false, a string, or a
 * list of n of these. Whether the operator has this option and the value is right is found when a
 * job is started. */
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
/* Sets an option to any JSON value. */
void cachew_set_json(struct cachew_builder *builder, const char *option, const char *json);
/* Appends sources of arrays that are in the program's memory: row i of each is element i, with a field for
 * each array, as tf.data's from_tensor_slices has it. The arrays are written once, as cachew_array_write
 * says, and need not live longer. n: at least 1; all must have the same number of rows, which is their first
 * dimension. directory: NULL = that of this user. Behind it stands one node, from which the next
 * operator reads. */
void cachew_add_arrays(struct cachew_builder *builder, const struct cachew_tensor *arrays, size_t n,
                       const char *directory);
/* Writes an array of the program into a directory, so that workers can read its rows: they must see the
 * directory under the same path, that is, run on this host, or it lies on a file system that all mount. The
 * name is made of the content: what is there already is not written again, and nothing is ever changed or
 * removed.
 *
 * array: `name` is the field (1 to 47 bytes), rank at least 1, row-major. CACHEW_STR: rank 1, strings may lie
 * anywhere in data, in ascending order.
 * directory: it is made if it is not there. NULL: the environment's CACHEW_ARRAY_DIR, else cachew/arrays in
 * $XDG_CACHE_HOME or ~/.cache, which others may not read.
 * *ret_op: the source that reads it, "npy" or "chunks"; static. *ret_pattern: its option `pattern`; the caller
 * frees it with free(). npy needs the option `field`, too.
 * Errors: CACHEW_E_INVALID (no such array; no directory is known), CACHEW_E_IO, _DENIED, _LIMIT and
 * others of the file system, with the name of the file; CACHEW_E_NOMEM. Any thread. */
int cachew_array_write(const struct cachew_tensor *array, const char *directory,
                       const char **ret_op, char **ret_pattern, struct cachew_error *error);
/* Makes the pipeline, which the caller releases with cachew_pipeline_release, and frees the
 * builder, also on failure. Errors: the first one of the calls before; a name that is missing or
 * there twice; nodes that read each other in a circle (CACHEW_E_INVALID). */
int cachew_builder_finish(struct cachew_builder *builder, struct cachew_pipeline **ret_pipeline,
                          struct cachew_error *error);
/* Frees a builder that is not to be finished. NULL is accepted. */
void cachew_builder_free(struct cachew_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
