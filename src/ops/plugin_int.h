/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the adapter to cachew/op.h share. A call goes: the engine calls a function of struct
 * cw_op, which puts together what cachew/op.h promises, notes that the thread is in the operator
 * (base/call_note.h), calls it, and looks whether the result is what it said. */
#ifndef CW_OPS_PLUGIN_INT_H
#define CW_OPS_PLUGIN_INT_H

#include "cachew/op.h"
#include "ops/foreign_table.h"

/* An operator as it was loaded: a copy, in which members that its struct lacks are 0. */
struct cw_plugin_op {
    struct cachew_op op;
    struct cachew_op_option options[CW_FOREIGN_OPTIONS_MAX];
    struct cachew_op_library library;
};

/* ---- plugin_engine.c ---- */
/* The table of functions that files are handed. */
const struct cachew_op_engine *cw_plugin_engine(void);

/* ---- plugin_call.c ---- */
/* The operator to which options belong. */
const struct cachew_op *cw_plugin_of(const void *opts);
static inline struct cachew_op_error *cw_plugin_error(struct cw_err *err)
{
    return (struct cachew_op_error *)(void *)err;
}
static inline struct cachew_op_spec *cw_plugin_spec(const struct cw_spec *spec)
{
    return (struct cachew_op_spec *)(uintptr_t)spec;
}
/* Note that a call begins, and that it has ended with a code of cachew/op.h. The latter returns a code of
 * ours, with a message if the operator has set none. */
void cw_plugin_enter(const struct cachew_op *op);
int cw_plugin_leave(const struct cachew_op *op, int code, struct cw_err *err);
void cw_plugin_to_field(const struct cw_field *field, struct cachew_op_field *ret_field);
int cw_plugin_from_field(const struct cachew_op_field *field, struct cw_field *ret_field,
                         struct cw_err *err);

/* What open has made, and which operator closes it. */
struct cw_plugin_state {
    const struct cachew_op *op;
    void *state;
    size_t inputs_n; /* set by count */
};
struct cw_plugin_scratch {
    const struct cachew_op *op;
    void *scratch;
};
int cw_plugin_open(const void *opts, const struct cw_op_open *how, void **ret_state,
                   struct cw_err *err);
void cw_plugin_close(void *state);
void *cw_plugin_scratch_new(const void *opts, void *state);
void cw_plugin_scratch_free(void *scratch);
/* What an operator sees of a call. */
struct cachew_op_call cw_plugin_call(const struct cw_op_ctx *ctx, const void *opts,
                                     const void *state, const void *scratch);
void cw_plugin_to_view(const struct cw_view *view, struct cachew_op_view *ret_view);
/* Takes over a result. An error if it is not what the spec says. */
int cw_plugin_from_view(const struct cachew_op_view *view, const struct cw_field *field,
                        struct cw_view *ret_view, struct cw_err *err);
/* An element of n fields in memory of ctx->arena, with empty views. NULL: there is no memory. */
struct cachew_op_element *cw_plugin_element(struct cw_arena *arena, size_t n, struct cw_err *err);

/* ---- plugin_spec.c ---- */
int cw_plugin_check(const void *opts, struct cw_err *err);
int cw_plugin_infer(const void *opts, const struct cw_spec *in, size_t in_n,
                    struct cw_spec *ret_spec, struct cw_err *err);
int cw_plugin_infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                          struct cw_err *err);
void cw_plugin_facts(const void *opts, const struct cw_spec *in, const size_t *fields,
                     size_t fields_n, struct cw_op_facts *ret_facts);

/* ---- plugin_apply.c, plugin_source.c, plugin_index.c, plugin_group.c ---- */
/* Set the functions of an operator of a kind. */
void cw_plugin_complete_element(struct cw_op *op);
void cw_plugin_complete_source(struct cw_op *op, const struct cachew_op *impl);
void cw_plugin_complete_index(struct cw_op *op);
void cw_plugin_complete_group(struct cw_op *op, const struct cachew_op *impl);
int cw_plugin_count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                    int64_t *ret_n, struct cw_err *err);

#endif
