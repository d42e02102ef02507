/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the dispatcher: what it means, and what of it is refused. */
#include <string.h>

#include "dispatcher/cache/cache.h"
#include "dispatcher/program.h"
#include "support/cm.h"

#define WORDS_MAX 16

/* The words behind "cachew-dispatcher", up to NULL. */
static int parse(const char *const *words, struct cw_options *options, struct cw_err *err)
{
    char *argv[WORDS_MAX + 2], program[] = "cachew-dispatcher";
    int argc = 0;
    argv[argc++] = program;
    for (; *words && argc <= WORDS_MAX; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    argv[argc] = NULL;
    *options = (struct cw_options){0};
    *err = (struct cw_err){0};
    return cw_options_parse(argc, argv, options, err);
}

#define NEEDED "--listen", "127.0.0.1:1", "--state-dir", "/s"
#define KUBE "--provisioner", "kubernetes"

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words[WORDS_MAX];
        const char *says;
    } cases[] = {
        {{NULL}, "--listen HOST:PORT is required"},
        {{"--listen", "h:1", "--state-dir", "/s", NULL}, "--insecure"},
        {{"--listen", "0.0.0.0:1", "--state-dir", "/s", NULL}, "--token-file FILE"},
        {{"--listen", "127.0.0.1:1", NULL}, "--state-dir DIR is required"},
        {{NEEDED, "more", NULL}, "unexpected argument \"more\""},
        {{NEEDED, "--no-such", NULL}, "no-such"},
        {{NEEDED, "--max-jobs", "0", NULL}, "max-jobs"},
        {{NEEDED, "--log-level", "loud", NULL}, "\"loud\" is none of error, warn, info, debug"},
        {{NEEDED, "--tenant", "team", NULL}, "not NAME:KEY=VALUE"},
        {{NEEDED, "--autocache", "always", NULL}, "--autocache: "},
        {{NEEDED, "--cache-store", "ftp://x", NULL}, "--cache-store: "},
        {{NEEDED, "--cache-quota", "1G", NULL}, "--cache-store URL is missing"},
        {{NEEDED, "--source-cache-quota", "1G", NULL}, "--cache-store URL is missing"},
        {{NEEDED, "--tenant", "a:cache-quota=1G", NULL}, "--cache-store URL is missing"},
        {{NEEDED, "--cache-evict", "random", NULL}, "\"random\" is no policy: benefit or lru"},
        {{NEEDED, "--cache-compress", "0", NULL}, "\"0\" is neither a level"},
        {{NEEDED, "--cache-compress", "20", NULL}, "\"20\" is neither a level"},
        {{NEEDED, "--cache-compress", "much", NULL}, "\"much\" is neither a level"},
        {{NEEDED, "--provisioner", "cloud", NULL}, "--provisioner: "},
        {{NEEDED, "--autoscale", "fastest", NULL}, "--autoscale: "},
        {{NEEDED, "--autoplace", "nearest", NULL}, "--autoplace: "},
        {{NEEDED, "--min-workers", "3", "--max-workers", "2", NULL},
         "--min-workers 3 is more than --max-workers 2"},
        {{NEEDED, "--kube-deployment", "w", NULL}, "--kube-deployment is of --provisioner kub"},
        {{NEEDED, "--kube-namespace", "ns", NULL}, "--kube-namespace is of --provisioner kub"},
        {{NEEDED, KUBE, "--max-workers", "2", NULL}, "--kube-deployment NAME is missing"},
        {{NEEDED, KUBE, "--kube-deployment", "w", NULL}, "w has none"},
        {{NEEDED, KUBE, "--kube-deployment", "w,max=2", "--kube-deployment", "v", NULL},
         "v has none"},
        {{NEEDED, KUBE, "--kube-deployment", "w,max=2 w,max=3", NULL}, "w is named twice"},
        {{NEEDED, KUBE, "--kube-deployment", "w,least=2", NULL}, "neither max=N nor price=P"},
        {{NEEDED, KUBE, "--kube-deployment", "w,max=2", "--kube-namespace", "a/b", NULL},
         "\"a/b\" is no name"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_options options;
        struct cw_err err;
        assert_true(parse(cases[i].words, &options, &err) < 0);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.msg, cases[i].says);
        assert_null(options.listen); /* nothing is given when something is wrong */
    }
}

static void deployments_are_limits(void **state)
{
    (void)state;
    static const char *const sum[] = {NEEDED, KUBE, "--kube-deployment", "w,max=2 v,max=3", NULL};
    static const char *const given[] = {NEEDED, KUBE, "--kube-deployment", "w", "--max-workers",
                                        "9",    NULL};
    struct cw_options o;
    struct cw_err err;
    assert_int_equal(parse(sum, &o, &err), CW_ARGS_RUN);
    assert_int_equal(o.max_workers, 5);
    assert_string_equal(o.provisioner->name, "kubernetes");
    assert_int_equal(parse(given, &o, &err), CW_ARGS_RUN);
    assert_int_equal(o.max_workers, 9);
}

static void what_is_not_said(void **state)
{
    (void)state;
    static const char *const words[] = {NEEDED, NULL};
    struct cw_options o;
    struct cw_err err;
    assert_int_equal(parse(words, &o, &err), CW_ARGS_RUN);
    assert_string_equal(o.listen, "127.0.0.1:1");
    assert_string_equal(o.state_dir, "/s");
    assert_true(o.silence_ms == 3000 && o.lease_ms == 2000 && o.max_jobs == 1000);
    assert_true(o.job_idle_ms == 24 * 3600 * 1000 && o.deaths_max == 3 && o.max_workers >= 1);
    assert_null(o.cache_store);
    assert_string_equal(o.cache_evict->name, "benefit");
    assert_int_equal(o.cache_level, CW_CHUNK_PLAIN);
    assert_string_equal(o.autocache, "auto");
    assert_string_equal(o.autoplace, "auto");
    assert_string_equal(o.autoscale, "off"); /* nobody starts workers */
    assert_true(o.provisioner->fixed);
}

static void what_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int level;
    } levels[] = {{"off", CW_CHUNK_PLAIN}, {"auto", CW_CHUNK_AUTO}, {"1", 1}, {"19", 19}};
    struct cw_options o;
    struct cw_err err;
    for (size_t i = 0; i < CW_ARRAY_LEN(levels); i++) {
        const char *const words[] = {NEEDED, "--cache-store",    "mem:x",    "--cache-quota",
                                     "1K",   "--cache-compress", NULL,       "--cache-evict",
                                     "lru",  "--provisioner",    "external", NULL};
        const char *given[CW_ARRAY_LEN(words)];
        memcpy(given, words, sizeof(words));
        given[9] = levels[i].text;
        assert_int_equal(parse(given, &o, &err), CW_ARGS_RUN);
        assert_int_equal(o.cache_level, levels[i].level);
        assert_string_equal(o.cache_evict->name, "lru");
        assert_int_equal(o.cache_quota, 1024);
        assert_string_equal(o.provisioner->name, "external");
        assert_string_equal(o.autoscale, "auto"); /* somebody starts workers */
    }
}

static void what_only_prints(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"--help", NULL}, {"--version", NULL}, {"--metrics-markdown", NULL}};
    struct cw_options o;
    struct cw_err err;
    for (size_t i = 0; i < CW_ARRAY_LEN(words); i++)
        assert_int_equal(parse(words[i], &o, &err), CW_ARGS_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused),  cmocka_unit_test(deployments_are_limits),
        cmocka_unit_test(what_is_not_said), cmocka_unit_test(what_is_said),
        cmocka_unit_test(what_only_prints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
