/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of elements by position, and draws by them. */
#ifndef CW_OPS_INDEX_WEIGHTS_H
#define CW_OPS_INDEX_WEIGHTS_H

#include "base/rng.h"
#include "base/stop.h"
#include "conf/opt.h"

#define CW_WEIGHTS_MAX (INT64_C(1) << 31)

struct cw_weights {
    double *v; /* each is finite and at least 0; one is greater */
    int64_t n;
    int64_t drawn; /* how many are greater than 0 */
};
/* Copies a list. Errors name the number that is no weight; `what` begins them. */
int cw_weights_from_list(const struct cw_f64_list *list, const char *what,
                         struct cw_weights *ret_weights, struct cw_err *err);
/* Reads a file of decimal numbers with white space between them (a local file of a source,
 * io/source_root.h). Errors name the file and the line. *ret_sum: a hash of its bytes. */
int cw_weights_from_file(const char *path, const struct cw_stop *stop, uint64_t *ret_sum,
                         struct cw_weights *ret_weights, struct cw_err *err);
/* Reads such a text; `name` begins messages. */
int cw_weights_parse(const char *name, const char *text, size_t n, struct cw_weights *ret_weights,
                     struct cw_err *err);
void cw_weights_fini(struct cw_weights *weights);

/* An alias table (Walker 1977; the construction of Vose 1991): a draw looks at one place of it. */
struct cw_alias {
    double *keep; /* with this probability place i gives i, otherwise alias[i] */
    uint32_t *alias;
    int64_t n;
};
void cw_alias_init(struct cw_alias *alias, const struct cw_weights *weights);
void cw_alias_fini(struct cw_alias *alias);
/* Takes draws 0 to 3 of the stream. */
int64_t cw_alias_draw(const struct cw_alias *alias, const struct cw_rng *rng);

/* Fills `order`, of weights->drawn numbers, with positions in the order of draws without replacement,
 * each by the weights of what is left: by rising -log(u) / weight, u of the position's random stream
 * (Efraimidis and Spirakis 2006). `keys` is memory for as many. Other threads
 * may read the order while it is written. */
struct cw_weights_key {
    double key;
    uint32_t i;
};
void cw_weights_order(const struct cw_weights *weights, uint64_t seed, uint64_t tag, uint64_t epoch,
                      uint64_t rep, struct cw_weights_key *keys, _Atomic uint32_t *order);

#endif
