/* SPDX-License-Identifier: Apache-2.0 */
/* In the simulation's executable of the coverage build: the counters of all programs of actors. A
 * new actor begins with the memory that its program had when it was loaded; what those before it
 * have counted is kept. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "program.h"

#if !defined(__GNUC__) || __GNUC__ != 12
#error "struct gcov_info below is that of gcc 12"
#endif

/* As in gcc's libgcov.h. */
struct gcov_ctr_info {
    unsigned num;
    int64_t *values;
};
struct gcov_fn_info {
    const struct gcov_info *key;
    unsigned ident, lineno_checksum, cfg_checksum;
    struct gcov_ctr_info ctrs[1];
};
struct gcov_info {
    unsigned version;
    struct gcov_info *next;
    unsigned stamp, checksum;
    const char *filename;
    void (*merge[8])(int64_t *, unsigned);
    unsigned n_functions;
    const struct gcov_fn_info *const *functions;
};
void __gcov_init(struct gcov_info *info);
void __gcov_merge_add(int64_t *counters, unsigned n);

#define INFOS_MAX 65536
#define KEPT_MAX ((size_t)1 << 30) /* address space: what is not used costs nothing */

static struct gcov_info *infos[INFOS_MAX];
static size_t infos_n;

/* ---- for coverage_actor.c ---- */
__attribute__((visibility("default"))) void coverage_init(struct gcov_info *info);
__attribute__((visibility("default"))) void coverage_merge(int64_t *counters, unsigned n);

void coverage_init(struct gcov_info *info)
{
    if (infos_n == INFOS_MAX)
        abort();
    infos[infos_n++] = info;
    __gcov_init(info);
}

void coverage_merge(int64_t *counters, unsigned n)
{
    __gcov_merge_add(counters, n);
}

/* ---- counters that live on ---- */
static int64_t *kept_memory(void)
{
    static int64_t *kept;
    if (!kept)
        kept = mmap(NULL, KEPT_MAX, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (kept == MAP_FAILED)
        abort();
    return kept;
}

static void copy_counters(size_t n_infos, bool back)
{
    int64_t *kept = kept_memory();
    for (size_t i = 0; i < n_infos; i++) {
        for (unsigned f = 0; f < infos[i]->n_functions; f++) {
            const struct gcov_fn_info *fn = infos[i]->functions[f];
            if (!fn || fn->key != infos[i])
                continue;
            size_t bytes = fn->ctrs[0].num * sizeof(int64_t);
            memcpy(back ? fn->ctrs[0].values : kept, back ? kept : fn->ctrs[0].values, bytes);
            kept += fn->ctrs[0].num;
        }
    }
}

struct sim_actor *__real_sim_program_spawn(struct sim_program *program, const char *entry,
                                           const char *host, const char *name, void *arg);
struct sim_actor *__wrap_sim_program_spawn(struct sim_program *program, const char *entry,
                                           const char *host, const char *name, void *arg);

struct sim_actor *__wrap_sim_program_spawn(struct sim_program *program, const char *entry,
                                           const char *host, const char *name, void *arg)
{
    size_t n = infos_n;
    copy_counters(n, false);
    struct sim_actor *actor = __real_sim_program_spawn(program, entry, host, name, arg);
    copy_counters(n, true);
    return actor;
}
