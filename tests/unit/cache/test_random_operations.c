/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations beside a plain map. */
#include "records.h"

#include "base/map.h"
#include "fake_store.h"

#define MODEL_IDS 400

struct model {
    struct fixture f;
    bool there[MODEL_IDS]; /* kept: must be found unless a chunk was removed since */
    struct cw_rng rng;
    uint32_t draw;
    enum { SMALL, FAR, STRIDE } kind;
    struct cw_strmap loaded; /* names of chunks */
    size_t seen;             /* of the events' names */
};

static uint64_t draw(struct model *m, uint64_t n)
{
    return cw_rng_below(&m->rng, m->draw++, n);
}

static uint64_t model_id(const struct model *m, uint64_t i)
{
    return m->kind == SMALL ? i : m->kind == FAR ? ~cw_mix64(i) : i * 1000003;
}

static void model_expect(struct model *m, uint64_t i)
{
    int found = get_sample(m->f.node, model_id(m, i));

    assert_int_equal(found, m->there[i]);
    assert_int_equal(cw_cache_has(m->f.node, model_id(m, i)), m->there[i]);
}

static void model_look(struct model *m, size_t most)
{
    size_t changed = 0;

    for (uint64_t i = 0; i < MODEL_IDS; i++) {
        bool found = get_sample(m->f.node, model_id(m, i)) == 1;

        changed += m->there[i] != found;
        m->there[i] = found;
    }
    assert_true(changed <= most);
}

/* Nothing waits. One chunk goes or comes back: no more records can change than it has. */
static void model_chunk(struct model *m)
{
    struct cw_chunk_name parsed;

    for (; m->seen < m->f.events.names_n; m->seen++)
        cw_strmap_set(&m->loaded, m->f.events.names[m->seen], &m->f);
    if (!m->seen)
        return;
    const char *name = m->f.events.names[draw(m, m->seen)];
    uint64_t chunks = counts_of(m->f.node).chunks;
    assert_true(cw_chunk_name_parse(name, &parsed));
    if (cw_strmap_get(&m->loaded, name)) {
        cw_cache_dataset_remove(m->f.node, &name, 1);
        WAIT_FOR(counts_of(m->f.node).chunks == chunks - 1);
        cw_strmap_remove(&m->loaded, name);
    } else {
        cw_cache_dataset_add(m->f.node, &name, 1);
        WAIT_FOR(cw_cache_dataset_is_loaded(m->f.node));
        assert_int_equal(counts_of(m->f.node).chunks, chunks + 1);
        cw_strmap_set(&m->loaded, name, &m->f);
    }
    model_look(m, parsed.count);
}

static void model_step(struct model *m)
{
    uint64_t i = draw(m, MODEL_IDS);

    switch (draw(m, 12)) {
    case 0:
        if (draw(m, 4) == 0)
            settle(&m->f);
        break;
    case 1:
        if (draw(m, 8) == 0) {
            settle(&m->f);
            model_chunk(m);
        }
        break;
    case 2:
    case 3:
    case 4: {
        put_sample(m->f.node, model_id(m, i));
        m->there[i] = true;
        break;
    }
    case 5: {
        uint64_t ids[4] = {model_id(m, i), model_id(m, (i + 1) % MODEL_IDS), 1u << 30,
                           model_id(m, i)};

        cw_cache_prefetch(m->f.node, ids, 4);
        break;
    }
    default:
        model_expect(m, i);
    }
}

static void test_model(void **state)
{
    static const char *const urls[] = {"fake:map", "fake:read?timeout=120s"};

    (void)state;
    for (uint64_t seed = 0; seed < 18; seed++) {
        struct model *m = CW_NEW(struct model);
        static const int levels[] = {CW_CHUNK_PLAIN, 3, CW_CHUNK_AUTO};

        fake_reset();
        m->kind = seed % 3 == 0 ? SMALL : seed % 3 == 1 ? FAR : STRIDE;
        cw_rng_init(&m->rng, seed, 0, 0, 0, 0);
        fixture_open(&m->f, urls[seed % 2],
                     (struct cw_cache_options){.memory = 64 << 20, .level = levels[seed / 6]});
        for (int step = 0; step < 1500; step++)
            model_step(m);
        settle(&m->f);
        for (uint64_t i = 0; i < MODEL_IDS; i++)
            model_expect(m, i);
        fixture_close(&m->f, 0);
        cw_strmap_fini(&m->loaded);
        cw_mem_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
