/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfig files, good and bad, and what a pod is given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/kube_config.h"
#include "kube/kube_file.h"
#include "kube/kube_token.h"
#include "kube/kubeconfig.h"
#include "support/cm.h"

static char dir[64];

static char *put(const char *name, const char *text)
{
    char *path = cw_mem_printf("%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    return path;
}

/* Fills in what stands for %s in a usual file. */
static char *config_of(const char *cluster, const char *user)
{
    return cw_mem_printf("apiVersion: v1\n"
                         "kind: Config\n"
                         "current-context: here\n"
                         "preferences: {}\n"
                         "contexts:\n"
                         "- name: there\n"
                         "  context: {cluster: c, user: none}\n"
                         "- name: here\n"
                         "  context:\n"
                         "    cluster: c\n"
                         "    user: u\n"
                         "    namespace: team-a\n"
                         "clusters:\n"
                         "- name: c\n"
                         "  cluster: {%s}\n"
                         "users:\n"
                         "- name: u\n"
                         "  user: {%s}\n",
                         cluster, user);
}

static int load(const char *cluster, const char *user, struct cw_kube_config *ret,
                struct cw_err *err)
{
    cw_autofree char *text = config_of(cluster, user);
    cw_autofree char *path = put("config", text);
    return cw_kube_config_load(path, NULL, ret, err);
}

static void reads_good_ones(void **state)
{
    (void)state;
    struct cw_kube_config c = {0};
    struct cw_err err = {0};
    cw_mem_free(put("ca.pem", "-----BEGIN CERTIFICATE-----\nca\n"));
    cw_mem_free(put("token", "abc.def\n"));
    if (load("server: 'https://10.0.0.1:6443/', certificate-authority: ca.pem",
             "tokenFile: token, client-certificate-data: LS0tLS1CRUdJTiBDRVI=, client-key-data: "
             "LS0tLS1CRUdJTiBLRVk=",
             &c, &err) != CW_OK)
        fail_msg("%s", err.msg);
    assert_string_equal(c.server, "https://10.0.0.1:6443");
    assert_string_equal(c.name_space, "team-a");
    assert_string_equal(c.ca, "-----BEGIN CERTIFICATE-----\nca\n");
    assert_string_equal(c.cert, "-----BEGIN CER");
    assert_string_equal(c.key, "-----BEGIN KEY");
    cw_autofree char *token_file = cw_mem_printf("%s/token", dir);
    assert_string_equal(c.token_file, token_file);
    assert_non_null(strstr(c.origin, "/config, context here"));
    cw_kube_config_fini(&c);
    assert_int_equal(load("server: 'http://[::1]:8080/prefix'", "token: 'abc'", &c, &err), CW_OK);
    assert_string_equal(c.server, "http://[::1]:8080/prefix");
    assert_string_equal(c.token, "abc");
    assert_null(c.ca);
    cw_kube_config_fini(&c);
    assert_int_equal(load("server: http://a, insecure-skip-tls-verify: false, proxy-url: ''",
                          "exec: null, token: ~", &c, &err),
                     CW_OK);
    assert_null(c.token);
    cw_kube_config_fini(&c);
}

static void names_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *user, *part;
        int code;
    } bad[] = {
        {"", "", "the cluster \"c\" has no server", CW_E_INVALID},
        {"server: ftp://x", "", "server \"ftp://x\"", CW_E_INVALID},
        {"server: https://", "", "server \"https://\"", CW_E_INVALID},
        {"server: 'https:///x'", "", "server", CW_E_INVALID},
        {"server: https://u:p@x", "", "server", CW_E_INVALID},
        {"server: 'https://x#y'", "", "server", CW_E_INVALID},
        {"server: \"https://x\\r\\nX: y\"", "", "server", CW_E_INVALID},
        {"server: [a]", "", "cluster.server is not a text", CW_E_INVALID},
        {"server: https://x, certificate-authority: none.pem", "",
         "certificate-authority: cannot open", CW_E_NOT_FOUND},
        {"server: https://x, certificate-authority: config", "", "PEM form", CW_E_INVALID},
        {"server: https://x, certificate-authority-data: '!!'", "",
         "certificate-authority-data: it is no base64", CW_E_INVALID},
        {"server: https://x, insecure-skip-tls-verify: true", "",
         "cluster.insecure-skip-tls-verify", CW_E_UNSUPPORTED},
        {"server: https://x, proxy-url: http://p", "", "cluster.proxy-url", CW_E_UNSUPPORTED},
        {"server: https://x, tls-server-name: y", "", "cluster.tls-server-name", CW_E_UNSUPPORTED},
        {"server: https://x", "exec: {command: gke}", "user.exec is not supported: programs",
         CW_E_UNSUPPORTED},
        {"server: https://x", "auth-provider: {name: oidc}", "user.auth-provider",
         CW_E_UNSUPPORTED},
        {"server: https://x", "username: a, password: hidden", "user.username", CW_E_UNSUPPORTED},
        {"server: https://x", "as: root", "user.as ", CW_E_UNSUPPORTED},
        {"server: https://x", "token: 'hid den'", "a token consists", CW_E_INVALID},
        {"server: https://x", "tokenFile: none", "token file", CW_E_NOT_FOUND},
        {"server: https://x", "client-certificate-data: LS0tLS1CRUdJTiBDRVI=", "no client-key",
         CW_E_INVALID},
        {"server: https://x", "client-key-data: LS0tLS1CRUdJTiBLRVk=", "no client-certificate",
         CW_E_INVALID},
        {"server: https://x", "client-certificate: /no/such.pem", "client-certificate: cannot open",
         CW_E_NOT_FOUND},
    };
    struct cw_kube_config c = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_err err = {0};
        int code = load(bad[i].cluster, bad[i].user, &c, &err);
        if (code != bad[i].code || !strstr(err.msg, bad[i].part) ||
            !strstr(err.msg, "kubeconfig /") || strstr(err.msg, "hid"))
            fail_msg("{%s} {%s}: %d %s", bad[i].cluster, bad[i].user, code, err.msg);
    }
}

static void refuses_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "it is no kubeconfig"},
        {"- a\n- b\n", "it is no kubeconfig"},
        {"a: [b\n", "it is not YAML: line"},
        {"\tx", "it is not YAML"},
        {"kind: Config\n", "it has no current-context"},
        {"current-context: ''\n", "it has no current-context"},
        {"current-context: {}\n", "kubeconfig.current-context is not a text"},
        {"current-context: x\n", "there is no list \"contexts\""},
        {"current-context: x\ncontexts: {}\n", "there is no list \"contexts\""},
        {"current-context: x\ncontexts: [{name: y}]\n", "there is no \"x\" in \"contexts\""},
        {"current-context: x\ncontexts: [{name: x}]\n", "\"x\" of \"contexts\" has no \"context\""},
        {"current-context: x\ncontexts: [{name: x, context: {}}]\n", "names no cluster"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n",
         "there is no list \"clusters\""},
        {"current-context: x\ncontexts: [&a {name: x, context: *a}]\n", "names no cluster"},
        {"current-context: \"x\\0y\"\ncontexts: []\n", "is not a text"},
    };
    struct cw_kubeconfig c = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_err err = {0};
        assert_int_equal(cw_kubeconfig_parse(bad[i].text, strlen(bad[i].text), NULL, &c, &err),
                         CW_E_INVALID);
        if (!strstr(err.msg, bad[i].part))
            fail_msg("%s: %s", bad[i].text, err.msg);
    }
    cw_autofree char *text = config_of("server: https://x", "token: t");
    struct cw_err err = {0};
    assert_int_equal(cw_kubeconfig_parse(text, strlen(text), "there", &c, &err), CW_E_INVALID);
    assert_string_equal(err.msg, "there is no \"none\" in \"users\"");
    struct cw_kube_config config = {0};
    assert_int_equal(cw_kube_config_load("/no/such/file", NULL, &config, &err), CW_E_NOT_FOUND);
    assert_int_equal(cw_kube_config_load("/", NULL, &config, &err), CW_E_INVALID);
}

static void decodes_base64(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"", ""},        {"YQ==", "a"},         {"YWI=", "ab"},
        {"YWJj", "abc"}, {"Y\nW\r\nJj", "abc"}, {"/+//", "\xff\xef\xff"}};
    static const char *const bad[] = {
        "Y", "YQ", "YQ=", "Y=Q=", "YQ==YQ==", "=", "====", "Y===", "YQ= =", "AAAA"};
    char *text = NULL;
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++) {
        assert_int_equal(cw_kube_base64(good[i][0], &text, NULL), CW_OK);
        assert_string_equal(text, good[i][1]);
        cw_kube_forget(text);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        if (cw_kube_base64(bad[i], &text, NULL) != CW_E_INVALID)
            fail_msg("%s is decoded", bad[i]);
}

static void finds_itself_in_a_pod(void **state)
{
    (void)state;
    struct cw_kube_config c = {0};
    struct cw_err err = {0};
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("CACHEW_POD_NAMESPACE");
    assert_int_equal(cw_kube_config_find(NULL, &c, &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "give --kubeconfig FILE or $KUBECONFIG"));
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(cw_kube_config_of_pod("/no/such", &c, &err), CW_E_NOT_FOUND);
    cw_mem_free(put("ca.crt", "-----BEGIN CERTIFICATE-----\n"));
    cw_mem_free(put("token", "tok\n"));
    assert_int_equal(cw_kube_config_of_pod(dir, &c, &err), CW_OK);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    assert_string_equal(c.name_space, "default");
    assert_string_equal(c.origin, "this pod");
    cw_kube_config_fini(&c);
    cw_mem_free(put("namespace", "cachew-system\n"));
    setenv("CACHEW_POD_NAMESPACE", "other", 1);
    setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1", 1);
    assert_int_equal(cw_kube_config_of_pod(dir, &c, &err), CW_OK);
    assert_string_equal(c.server, "https://10.96.0.1:443");
    assert_string_equal(c.name_space, "cachew-system");
    cw_kube_config_fini(&c);
    cw_autofree char *text = config_of("server: https://x", "token: t");
    cw_autofree char *path = put("config", text);
    setenv("KUBECONFIG", path, 1);
    assert_int_equal(cw_kube_config_find(NULL, &c, &err), CW_OK);
    assert_string_equal(c.server, "https://x");
    cw_kube_config_fini(&c);
    assert_int_equal(cw_kube_config_find("/no/such/file", &c, &err), CW_E_NOT_FOUND);
    setenv("KUBECONFIG", "/a:/b", 1);
    assert_int_equal(cw_kube_config_find(NULL, &c, &err), CW_E_UNSUPPORTED);
}

/* A kubelet replaces the file of a pod's token long before the token ends. */
static void reads_its_token_each_minute(void **state)
{
    (void)state;
    struct cw_kube_token token = {0};
    cw_autofree char *path = put("token", "first\n");
    cw_kube_token_init(&token, "first", path);
    assert_string_equal(cw_kube_token_get(&token, 1000), "first");
    cw_mem_free(put("token", "second\n"));
    assert_string_equal(cw_kube_token_get(&token, 60999), "first");
    assert_string_equal(cw_kube_token_get(&token, 61000), "second");
    cw_mem_free(put("token", "no token\n"));
    assert_string_equal(cw_kube_token_get(&token, 121000), "second");
    cw_mem_free(put("token", "third\n"));
    assert_true(cw_kube_token_renew(&token, 121001)); /* after a 401 at once */
    assert_string_equal(cw_kube_token_get(&token, 121001), "third");
    cw_kube_token_fini(&token);
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/cachew-kube-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    static const char *const names[] = {"config", "ca.pem", "token", "ca.crt", "namespace"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_good_ones),       cmocka_unit_test(names_what_is_wrong),
        cmocka_unit_test(refuses_what_is_none),  cmocka_unit_test(decodes_base64),
        cmocka_unit_test(finds_itself_in_a_pod), cmocka_unit_test(reads_its_token_each_minute),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
