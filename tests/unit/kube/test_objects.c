/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of objects: what lists and events make of it, in whatever order and however often they
 * come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "kube/objects.h"
#include "support/cm.h"

struct world {
    struct cw_kube_objects objects;
    struct cw_str told;
    int kept; /* how many are kept */
};

static void *digest(void *arg, struct cw_value *object)
{
    struct world *w = arg;
    const struct cw_value *n = cw_value_get(object, "n");
    int *kept = CW_NEW(int);
    *kept = n ? (int)n->i : 0;
    cw_value_fini(object);
    w->kept++;
    return kept;
}

static void dispose(void *arg, void *kept)
{
    ((struct world *)arg)->kept--;
    cw_mem_free(kept);
}

static void changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                    void *before)
{
    struct world *w = arg;
    cw_str_addf(&w->told, "%c%s", "+~-"[change], object -> key);
    if (before)
        cw_str_addf(&w->told, ":%d>%d", *(int *)before, *(int *)object->kept);
    cw_str_add_char(&w->told, ' ');
}

static void begin(struct world *w)
{
    *w = (struct world){0};
    struct cw_kube_objects_events events = {digest, dispose, changed, w};
    cw_kube_objects_init(&w->objects, &events);
}

static void end(struct world *w)
{
    cw_kube_objects_fini(&w->objects);
    assert_int_equal(w->kept, 0);
    cw_str_fini(&w->told);
}

/* An object "NAME UID VERSION N"; "-" leaves a field out. */
static void make(struct cw_value *value, const char *text)
{
    char name[32] = "", uid[32] = "", version[32] = "";
    int n = 0;
    (void)!sscanf(text, "%31s %31s %31s %d", name, uid, version, &n);
    CW_STR_AUTO json = {0};
    cw_str_add(&json, "{\"metadata\":{\"namespace\":\"ns\"");
    if (name[0] != '-')
        cw_str_addf(&json, ",\"name\":\"%s\"", name);
    if (uid[0] != '-')
        cw_str_addf(&json, ",\"uid\":\"%s\"", uid);
    if (version[0] != '-')
        cw_str_addf(&json, ",\"resourceVersion\":\"%s\"", version);
    cw_str_addf(&json, "},\"n\":%d}", n);
    assert_int_equal(cw_value_parse(json.s, json.len, NULL, value, NULL), CW_OK);
}

static int event(struct world *w, const char *type, const char *text)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    make(&value, text);
    int rc = cw_kube_objects_event(&w->objects, type, &value, &err);
    assert_int_equal(err.code, rc);
    cw_value_fini(&value);
    return rc;
}

static int item(struct world *w, const char *text)
{
    struct cw_value value = {0};
    make(&value, text);
    int rc = cw_kube_objects_list_item(&w->objects, &value, NULL);
    cw_value_fini(&value);
    return rc;
}

static void list(struct world *w, const char *const *items, const char *version)
{
    cw_kube_objects_list_begin(&w->objects);
    for (; *items; items++)
        assert_int_equal(item(w, *items), CW_OK);
    cw_kube_objects_list_end(&w->objects, version);
}

static void expect(struct world *w, const char *told)
{
    assert_string_equal(cw_str_text(&w->told), told);
    cw_str_clear(&w->told);
}

static void lists(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    list(&w, (const char *[]){"a u1 5 1", "b u2 7 2", NULL}, "9");
    expect(&w, "+ns/a +ns/b ");
    assert_int_equal(cw_kube_objects_n(&w.objects), 2);
    list(&w, (const char *[]){"b u2 7 2", "a u1 11 3", NULL}, "12"); /* another order */
    expect(&w, "~ns/a:1>3 ");
    list(&w, (const char *[]){"a u9 3 4", "c u3 13 5", NULL}, "14"); /* a is another one */
    expect(&w, "-ns/a +ns/a +ns/c -ns/b ");
    const struct cw_kube_object *a = cw_kube_objects_find(&w.objects, "ns", "a");
    assert_non_null(a);
    assert_string_equal(a->uid, "u9");
    assert_int_equal(*(int *)a->kept, 4);
    assert_null(cw_kube_objects_find(&w.objects, "ns", "b"));
    assert_null(cw_kube_objects_find(&w.objects, NULL, "a"));
    size_t n = 0;
    for (size_t i = 0; cw_kube_objects_next(&w.objects, &i); n++)
        ;
    assert_int_equal(n, 2);
    /* Begun again in the middle: only the second counts. */
    cw_kube_objects_list_begin(&w.objects);
    assert_int_equal(item(&w, "a u9 3 4"), CW_OK);
    cw_kube_objects_list_begin(&w.objects);
    assert_int_equal(item(&w, "c u3 13 5"), CW_OK);
    cw_kube_objects_list_end(&w.objects, "15");
    expect(&w, "-ns/a ");
    assert_string_equal(w.objects.position, "15");
    assert_int_equal(item(&w, "- u 1"), CW_E_INVALID);
    assert_int_equal(item(&w, "x - 1"), CW_E_INVALID);
    assert_int_equal(item(&w, "x u -"), CW_E_INVALID);
    expect(&w, "");
    end(&w);
}

static void events(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    list(&w, (const char *[]){"a u1 5 1", NULL}, "9");
    expect(&w, "+ns/a ");
    assert_int_equal(event(&w, "MODIFIED", "a u1 10 2"), CW_OK);
    expect(&w, "~ns/a:1>2 ");
    assert_string_equal(w.objects.position, "10");
    assert_int_equal(event(&w, "MODIFIED", "a u1 10 2"), CW_OK); /* again */
    assert_int_equal(event(&w, "MODIFIED", "a u1 9 7"), CW_OK);  /* goes back, as numbers do */
    assert_int_equal(event(&w, "DELETED", "a u1 8 7"), CW_OK);
    expect(&w, "");
    assert_string_equal(w.objects.position, "10");
    assert_int_equal(event(&w, "ADDED", "b u2 11 3"), CW_OK);
    assert_int_equal(event(&w, "BOOKMARK", "- - 20"), CW_OK);
    assert_string_equal(w.objects.position, "20");
    assert_int_equal(event(&w, "BOOKMARK", "- - 20"), CW_OK);
    assert_int_equal(event(&w, "BOOKMARK", "- - 19"), CW_E_AGAIN);
    assert_int_equal(event(&w, "BOOKMARK", "- - -"), CW_E_INVALID);
    assert_int_equal(event(&w, "DELETED", "b u2 21 3"), CW_OK);
    assert_int_equal(event(&w, "DELETED", "b u2 21 3"), CW_OK);
    expect(&w, "+ns/b -ns/b ");
    /* What was deleted does not come back, and what was replaced is not what it was. */
    assert_int_equal(event(&w, "ADDED", "b u2 11 3"), CW_E_AGAIN);
    assert_int_equal(event(&w, "ADDED", "a u0 4 3"), CW_E_AGAIN);
    assert_int_equal(event(&w, "DELETED", "a u0 30 3"), CW_E_AGAIN);
    expect(&w, "");
    assert_int_equal(event(&w, "ADDED", "a u7 31 3"), CW_OK); /* the deletion was not told */
    expect(&w, "-ns/a +ns/a ");
    assert_int_equal(event(&w, "CHANGED", "a u7 32 3"), CW_E_INVALID);
    assert_int_equal(event(&w, "ADDED", "a u7 - 3"), CW_E_INVALID);
    expect(&w, "");
    end(&w);
}

/* Versions that are no numbers are only the same, or not. */
static void opaque_versions(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    list(&w, (const char *[]){"a u1 x 1", NULL}, "z");
    assert_int_equal(event(&w, "MODIFIED", "a u1 w 2"), CW_OK);
    assert_int_equal(event(&w, "MODIFIED", "a u1 w 2"), CW_OK);
    assert_int_equal(event(&w, "ADDED", "b u2 a 3"), CW_OK);
    assert_int_equal(event(&w, "BOOKMARK", "- - 5"), CW_OK);
    assert_int_equal(event(&w, "DELETED", "a u1 007 2"), CW_OK);
    expect(&w, "+ns/a ~ns/a:1>2 +ns/b -ns/a ");
    assert_string_equal(w.objects.position, "007");
    end(&w);
}

/* ---- a history that is told with duplicates, and from earlier places ---- */
#define NAMES 6
#define STEPS 400

struct history {
    char text[STEPS][48];
    const char *type[STEPS];
    int uid[NAMES], version[NAMES]; /* uid 0: there is none */
    int now, uids;
};

static void change(struct history *h, const struct cw_rng *rng, int i)
{
    int name = (int)cw_rng_below(rng, (uint32_t)(2 * i), NAMES);
    bool exists = h->uid[name] != 0;
    bool deletes = exists && cw_rng_below(rng, (uint32_t)(2 * i + 1), 3) == 0;
    int uid = exists ? h->uid[name] : ++h->uids;
    h->now += 1 + name;
    h->type[i] = deletes ? "DELETED" : exists ? "MODIFIED" : "ADDED";
    snprintf(h->text[i], sizeof(h->text[i]), "%c u%d %d %d", 'a' + name, uid, h->now, i);
    h->uid[name] = deletes ? 0 : uid;
    h->version[name] = h->now;
}

static void check_equal(const struct world *w, const struct history *h)
{
    size_t n = 0;
    for (int i = 0; i < NAMES; i++) {
        char name[] = {(char)('a' + i), '\0'}, version[16];
        const struct cw_kube_object *object = cw_kube_objects_find(&w->objects, "ns", name);
        snprintf(version, sizeof(version), "%d", h->version[i]);
        assert_true((object != NULL) == (h->uid[i] != 0));
        if (object)
            assert_string_equal(object->version, version);
        n += object != NULL;
    }
    assert_int_equal(cw_kube_objects_n(&w->objects), n);
}

static void tell_list(struct world *w, const struct history *h)
{
    char position[16];
    cw_kube_objects_list_begin(&w->objects);
    for (int i = 0; i < NAMES; i++) {
        char text[48];
        snprintf(text, sizeof(text), "%c u%d %d 0", 'a' + i, h->uid[i], h->version[i]);
        if (h->uid[i])
            assert_int_equal(item(w, text), CW_OK);
    }
    snprintf(position, sizeof(position), "%d", h->now);
    cw_kube_objects_list_end(&w->objects, position);
}

static void any_history(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        static struct history h;
        struct cw_rng rng;
        struct world w;
        int lists_n = 0;
        memset(&h, 0, sizeof(h));
        cw_rng_init(&rng, seed, 0, 0, 0, 0);
        begin(&w);
        tell_list(&w, &h);
        for (int i = 0; i < STEPS; i++) {
            change(&h, &rng, i);
            int back = (int)cw_rng_below(&rng, (uint32_t)(10000 + i), 4) == 0
                           ? (int)cw_rng_below(&rng, (uint32_t)(20000 + i), 5)
                           : 0;
            int rc = CW_OK;
            for (int j = CW_MAX(i - back, 0); j <= i && rc == CW_OK; j++)
                rc = event(&w, h.type[j], h.text[j]);
            if (rc != CW_OK) {
                assert_int_equal(rc, CW_E_AGAIN);
                tell_list(&w, &h);
                lists_n++;
            }
            check_equal(&w, &h);
        }
        assert_true(lists_n < STEPS / 4);
        end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(events),
        cmocka_unit_test(opaque_versions),
        cmocka_unit_test(any_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
