/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose operator test.bad does, at one element, what no operator may do. Built with BAD_LOAD it is a
 * file that must not be loaded. */
#include <cachew/op.h>

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static const struct cachew_op_engine *engine;

enum how { SEGV, ABORT, LEAVE, HANG, DEEP, OTHER_SHAPE, QUIET, UNPROMISED };
static const char *const words[] = {"segv",        "abort", "leave",      "hang", "deep",
                                    "other_shape", "quiet", "unpromised", NULL};
struct opts {
    int how;
    int64_t at;
    bool in_open;
};

static const struct cachew_op_option options[] = {
    {.struct_size = sizeof(struct cachew_op_option),
     .name = "how",
     .help = "what it does",
     .type = CACHEW_OP_OPT_ENUM,
     .offset = offsetof(struct opts, how),
     .flags = CACHEW_OP_OPT_REQUIRED,
     .words = words},
    {.struct_size = sizeof(struct cachew_op_option),
     .name = "at",
     .help = "at which element",
     .type = CACHEW_OP_OPT_I64,
     .offset = offsetof(struct opts, at),
     .def = "7"},
    {.struct_size = sizeof(struct cachew_op_option),
     .name = "in_open",
     .help = "it does so when it is opened",
     .type = CACHEW_OP_OPT_BOOL,
     .offset = offsetof(struct opts, in_open),
     .def = "false"},
};

static int deep(volatile char *last, int n)
{
    volatile char here[4096];
    here[0] = last ? last[0] : 1;
    return n > 1000000000 ? here[0] : deep(here, n + 1) + here[0];
}

static int do_it(int how, struct cachew_op_view *out, struct cachew_op_error *error)
{
    static volatile int stays = 1;
    volatile int *volatile nowhere = NULL;
    switch (how) {
    case SEGV:
        *nowhere = 1;
        break;
    case ABORT:
        abort();
    case LEAVE:
        _exit(0);
    case HANG:
        while (stays)
            (void)pause();
        break;
    case DEEP:
        return deep(NULL, 0);
    case OTHER_SHAPE:
        out->bytes += 8;
        return 0;
    case QUIET:
        return CACHEW_OP_CORRUPT;
    default:
        return engine->fail(error, CACHEW_OP_INVALID, "this is %s", "said");
    }
    return 0;
}

static int open_it(const struct cachew_op_open *open, void **ret_state,
                   struct cachew_op_error *error)
{
    const struct opts *o = open->opts;
    (void)ret_state;
    return o->in_open ? do_it(o->how, NULL, error) : 0;
}

static int apply(const struct cachew_op_call *call, const struct cachew_op_element *in,
                 struct cachew_op_element *out, struct cachew_op_error *error)
{
    const struct opts *o = call->opts;
    if (o->how == UNPROMISED && in->id == (uint64_t)o->at)
        return 1;
    return in->id == (uint64_t)o->at ? do_it(o->how, out->fields[0], error) : 0;
}

static const struct cachew_op bad = {
    .struct_size = sizeof(struct cachew_op),
    .name = "test.bad",
    .version = 1,
    .summary = "does what no operator may do",
    .kind = CACHEW_OP_ELEMENT,
    .options = options,
    .options_n = sizeof(options) / sizeof(options[0]),
    .opts_bytes = sizeof(struct opts),
    .open = open_it,
    .apply = apply,
};

#ifdef BAD_LOAD
static const struct cachew_op no_dot = {.struct_size = sizeof(struct cachew_op),
                                        .name = "bad",
                                        .kind = CACHEW_OP_ELEMENT,
                                        .apply = apply};
static const struct cachew_op *const ops[] = {&bad, &no_dot};
#else
static const struct cachew_op *const ops[] = {&bad};
#endif
static struct cachew_op_library library = {
    .struct_size = sizeof(struct cachew_op_library),
    .abi = CACHEW_OP_ABI,
    .name = "bad",
    .ops = ops,
    .ops_n = sizeof(ops) / sizeof(ops[0]),
};

CACHEW_OP_LIBRARY(loader)
{
    const char *abi = getenv("TEST_OP_ABI");
    engine = loader;
    if (abi)
        library.abi = (uint32_t)strtoul(abi, NULL, 10);
    return &library;
}
