/* SPDX-License-Identifier: Apache-2.0 */
/* What may be opened below roots, and what may not: prefixes, links, special files, patterns. */
#include "support/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/glob.h"
#include "io/source_root.h"

static char folder[64];

static char *in_folder(const char *name)
{
    return cw_mem_printf("%s/%s", folder, name);
}

static void make_dir(const char *name)
{
    cw_autofree char *path = in_folder(name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void make_file(const char *name)
{
    cw_autofree char *path = in_folder(name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, name, strlen(name)), (ssize_t)strlen(name));
    close(fd);
}

/* to: a path in the folder, or another text if it does not begin with '@'. */
static void make_link(const char *name, const char *to)
{
    cw_autofree char *path = in_folder(name), *absolute = in_folder(to + 1);
    assert_int_equal(symlink(to[0] == '@' ? absolute : to, path), 0);
}

static int make_tree(void **state)
{
    static const char *const dirs[] = {"data", "data/sub", "data-other", "second", "secret"};
    static const char *const files[] = {"data/a", "data/sub/b", "data-other/a", "second/there",
                                        "secret/key"};
    static const char *const links[][2] = {{"data/inside", "sub/b"},
                                           {"data/inside_absolute", "@data/sub/b"},
                                           {"data/to_second", "@second"},
                                           {"data/to_key", "../secret/key"},
                                           {"data/to_secret", "@secret"},
                                           {"data/to_nothing", "nowhere"},
                                           {"data/loop", "loop"},
                                           {"data/magic", "/proc/self/environ"},
                                           {"data/null", "/dev/null"},
                                           {"way", "@data"},
                                           {"data/sub/to_key", "@secret/key"}};
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/cw_test_root_XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < CW_ARRAY_LEN(dirs); i++)
        make_dir(dirs[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++)
        make_file(files[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(links); i++)
        make_link(links[i][0], links[i][1]);
    cw_autofree char *fifo = in_folder("data/fifo"), *path = in_folder("data/socket");
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    memcpy(sun.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int rc = mkfifo(fifo, 0600) | bind(fd, (const struct sockaddr *)&sun, sizeof(sun));
    close(fd);
    return rc;
}

static int remove_tree(void **state)
{
    cw_autofree char *command = cw_mem_printf("rm -r %s", folder);
    (void)state;
    FILE *p = popen(command, "r");
    return p ? pclose(p) : -1;
}

static int reset(void **state)
{
    (void)state;
    cw_source_root_reset();
    cw_source_root_read_as(0);
    return 0;
}

static void add_root(const char *name)
{
    cw_autofree char *path = in_folder(name);
    struct cw_err err = {0};
    if (cw_source_root_add(path, &err) != 0)
        fail_msg("%s", err.msg);
}

/* Opens a path in the folder ('/' at its beginning: as it is); returns the code. What was opened is
 * what the path named: its content is the file's name. */
static int try_open(const char *name, struct cw_err *err)
{
    cw_autofree char *path = name[0] == '/' ? cw_mem_strdup(name) : in_folder(name);
    struct stat st;
    int fd = -1;
    *err = (struct cw_err){0};
    int rc = cw_source_open(path, &fd, &st, err);
    if (rc == 0) {
        assert_true(S_ISREG(st.st_mode));
        close(fd);
    } else {
        assert_non_null(strstr(err->msg, path));
    }
    return rc;
}

static void assert_opens(const char *name)
{
    struct cw_err err;
    if (try_open(name, &err) != 0)
        fail_msg("%s: %s", name, err.msg);
}

static void assert_denied(const char *name)
{
    struct cw_err err;
    int rc = try_open(name, &err);
    if (rc != CW_E_DENIED)
        fail_msg("%s: %d, %s", name, rc, err.msg);
    assert_non_null(strstr(err.msg, "--source-root"));
}

static void test_prefixes(void **state)
{
    struct cw_err err;
    (void)state;
    add_root("data");
    assert_opens("data/a");
    assert_opens("data//sub/./b");
    assert_opens("data/sub/../a");
    assert_opens("./data/a");
    assert_denied("data-other/a");
    assert_denied("secret/key");
    assert_denied("secret/not_there"); /* nobody learns that it is not there */
    assert_denied("data/../secret/key");
    assert_denied("data/sub/../../secret/key");
    assert_denied("way/a"); /* another name of the root is not the root's name */
    assert_int_equal(try_open("data/none", &err), CW_E_NOT_FOUND);
    assert_int_equal(try_open("data/a/b", &err), CW_E_NOT_FOUND);
    struct stat st;
    int fd;
    assert_int_equal(cw_source_open("data/a", &fd, &st, &err), CW_E_DENIED); /* it is relative */
    assert_int_equal(cw_source_open("", &fd, &st, &err), CW_E_DENIED);
}

static void test_links(void **state)
{
    struct cw_err err;
    (void)state;
    add_root("data");
    assert_opens("data/inside");
    assert_opens("data/inside_absolute");
    assert_denied("data/to_key");
    assert_denied("data/sub/to_key");
    assert_denied("data/to_secret/key");
    assert_denied("data/to_second/there");
    assert_denied("data/magic");
    assert_denied("data/null");
    assert_int_equal(try_open("data/to_nothing", &err), CW_E_NOT_FOUND);
    assert_true(try_open("data/loop", &err) < 0);
    add_root("second");
    assert_opens("data/to_second/there"); /* a link from root to root */
    assert_opens("second/there");
    assert_denied("data/to_secret/key");
}

static void test_root_behind_link(void **state)
{
    (void)state;
    add_root("way");
    assert_opens("way/a");
    assert_opens("way/inside_absolute");
    assert_denied("way/to_key");
    assert_denied("data/a");
}

static void test_special_files(void **state)
{
    static const char *const names[] = {"data/fifo", "data/socket", "data/sub", "/dev/null"};
    struct cw_err err;
    (void)state;
    for (int rooted = 0; rooted < 2; rooted++) {
        for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
            assert_int_equal(try_open(names[i], &err), CW_E_INVALID);
            assert_non_null(strstr(err.msg, "not a regular file"));
        }
        assert_int_equal(try_open("/proc/self/status", &err), CW_E_DENIED);
        assert_non_null(strstr(err.msg, "/proc"));
        assert_opens("data/a");
        assert_int_equal(cw_source_root_add("/", &err), 0);
    }
}

static void assert_url(const char *url, int code)
{
    struct cw_err err = {0};
    int rc = cw_source_root_check_url(url, &err);
    if (rc != code)
        fail_msg("%s: %d %s", url, rc, err.msg);
}

static void test_urls(void **state)
{
    struct cw_err err = {0};
    struct stat st;
    int fd;
    (void)state;
    assert_url("http://host:1/any?version=1", 0); /* without roots */
    assert_url("http://user:geheim@host/any", CW_E_INVALID);
    assert_url("s3://bucket/a/%2E%2e/b", CW_E_INVALID);
    assert_url("s3://bucket/a\nb", CW_E_INVALID);
    assert_url("s3://bucket/a?/../b", CW_E_INVALID);
    assert_url("http://host/a/..?b", CW_E_INVALID);
    assert_url("http://host/a?b=../c", 0);
    assert_url("https://host/a?X-Amz-Date=1&X-Amz-Signature=geheim", CW_E_INVALID);
    assert_url("https://host/a?design=1", 0);
    assert_int_equal(cw_source_root_add("s3://bucket/train", &err), 0);
    assert_url("s3://bucket/train", 0);
    assert_url("s3://bucket/train/..a/x", 0);
    assert_url("s3://bucket/trainers/x", CW_E_DENIED);
    assert_url("s3://bucket/train/../x", CW_E_INVALID);
    assert_url("http://host/x", CW_E_DENIED);
    assert_int_equal(cw_source_open("/etc/passwd", &fd, &st, &err), CW_E_DENIED);
    assert_int_equal(cw_source_root_add("https://host/", &err), 0);
    assert_url("https://host/x", 0);
    assert_url("https://host.evil/x", CW_E_DENIED);
    /* a password is not repeated */
    assert_int_equal(cw_source_root_check_url("http://user:geheim@host/any", &err), CW_E_INVALID);
    assert_null(strstr(err.msg, "geheim"));
}

static void test_bad_roots(void **state)
{
    static const char *const bad[] = {"",
                                      "data",
                                      "ftp://host/data",
                                      "file://data",
                                      "/nowhere/at/all",
                                      "s3://",
                                      "https://a:b@host/",
                                      "s3://bucket/a/../b"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_err err = {0};
        assert_true(cw_source_root_add(bad[i], &err) < 0);
        assert_non_null(strstr(err.msg, "--source-root"));
    }
    cw_autofree char *file = in_folder("data/a"), *dir = in_folder("data"),
                     *url = cw_mem_printf("file://%s/", dir);
    struct cw_err err = {0};
    assert_true(cw_source_root_add(file, &err) < 0);
    assert_false(cw_source_root_is_set());
    assert_int_equal(cw_source_root_add(url, &err), 0);
    assert_opens("data/a");
    for (size_t i = 1; i < CW_SOURCE_ROOTS_MAX; i++)
        assert_int_equal(cw_source_root_add(dir, &err), 0);
    assert_int_equal(cw_source_root_add(dir, &err), CW_E_LIMIT);
}

static void add_root_of(const char *name, const char *tenant)
{
    cw_autofree char *root = cw_mem_printf("%s,tenant=%s", name, tenant);
    add_root(root);
}

static int check_url_as(uint32_t reader, const char *url)
{
    cw_source_root_read_as(reader);
    return cw_source_root_check_url(url, NULL);
}

static void test_tenants(void **state)
{
    struct cw_err err = {0};
    struct stat st;
    (void)state;
    add_root_of("secret", "radiology");
    add_root("data/sub");
    assert_int_equal(cw_source_root_add("s3://bucket/a,tenant=radiology", &err), 0);
    assert_int_equal(cw_source_root_add("s3://bucket/b,tenant=default", &err), 0);
    uint32_t radiology = cw_source_root_reader("radiology");
    assert_int_not_equal(radiology, 0);
    assert_int_equal(cw_source_root_reader("another"), 0);
    assert_int_not_equal(cw_source_root_reader(NULL), 0);
    assert_int_equal(cw_source_root_reader(""), cw_source_root_reader("default"));

    assert_int_equal(try_open("secret/key", &err), CW_E_DENIED);
    assert_null(strstr(err.msg, "radiology"));
    cw_autofree char *secret = in_folder("secret");
    assert_int_equal(cw_source_stat(secret, &st, &err), CW_E_DENIED);
    assert_opens("data/sub/b");
    assert_int_equal(check_url_as(0, "s3://bucket/a/x"), CW_E_DENIED);
    assert_int_equal(check_url_as(0, "s3://bucket/b/x"), CW_E_DENIED);
    assert_int_equal(check_url_as(radiology, "s3://bucket/a/x"), 0);
    assert_int_equal(check_url_as(radiology, "s3://bucket/b/x"), CW_E_DENIED);
    assert_opens("secret/key");
    assert_opens("data/sub/b");
    assert_int_equal(check_url_as(cw_source_root_reader(""), "s3://bucket/b/x"), 0);
    assert_int_equal(try_open("secret/key", &err), CW_E_DENIED);
}

/* All may not read where one tenant alone shall. */
static void test_tenant_below_all(void **state)
{
    struct cw_err err = {0};
    cw_autofree char *data = in_folder("data"), *sub = in_folder("data/sub,tenant=a"),
                     *bad = in_folder("data,tenant=a/b");
    (void)state;
    assert_int_equal(cw_source_root_add(bad, &err), CW_E_INVALID);
    assert_int_equal(cw_source_root_add(sub, &err), 0);
    err = (struct cw_err){0};
    assert_int_equal(cw_source_root_add(data, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "tenant=a"));
    cw_source_root_reset();
    assert_int_equal(cw_source_root_add(data, &err), 0);
    assert_int_equal(cw_source_root_add(sub, &err), CW_E_INVALID);
    assert_int_equal(cw_source_root_add("https://host/", &err), 0);
    assert_int_equal(cw_source_root_add("https://host/x,tenant=a", &err), CW_E_INVALID);
    assert_int_equal(cw_source_root_add("s3://b/x,tenant=a", &err), 0);
    assert_int_equal(cw_source_root_add("s3://b/x,tenant=b", &err), 0);
    assert_int_equal(cw_source_root_add("s3://b/x/y,tenant=b", &err), CW_E_INVALID);
    assert_int_equal(cw_source_root_add("s3://b,tenant=a", &err), CW_E_INVALID);
}

static int glob_in(const char *name, size_t *ret_n, struct cw_err *err)
{
    cw_autofree char *pattern = in_folder(name);
    struct cw_paths paths = {0};
    *err = (struct cw_err){0};
    int rc = cw_glob(pattern, 0, NULL, &paths, err);
    *ret_n = paths.n;
    cw_paths_fini(&paths);
    return rc;
}

static void test_patterns(void **state)
{
    static const char *const outside[] = {
        "secret/*",         "secret/key", "secret/none",     "*/a", "data*/a", "**",
        "data/../secret/*", "data/to_k*", "data/to_secret/*"};
    struct cw_err err;
    size_t n = 0;
    (void)state;
    add_root("data");
    for (size_t i = 0; i < CW_ARRAY_LEN(outside); i++) {
        int rc = glob_in(outside[i], &n, &err);
        if (rc != CW_E_DENIED)
            fail_msg("%s: %d, %zu found, %s", outside[i], rc, n, err.msg);
        assert_non_null(strstr(err.msg, "--source-root"));
        assert_non_null(strstr(err.msg, outside[i]));
    }
    assert_int_equal(glob_in("data/sub/[b]", &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(glob_in("data/inside*", &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(glob_in("data/a", &n, &err), 0);
    assert_int_equal(glob_in("data/**/b", &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(glob_in("data/none", &n, &err), CW_E_NOT_FOUND);
}

/* Has the effect that this process's openat2 fails as in a kernel that does not have it. */
static bool refuse_openat2(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = CW_ARRAY_LEN(code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The same where the kernel has no openat2: the opened descriptor is looked at. */
static void test_without_openat2(void **state)
{
    if (!refuse_openat2())
        skip();
    test_prefixes(state);
    cw_source_root_reset();
    test_links(state);
    cw_source_root_reset();
    test_root_behind_link(state);
    cw_source_root_reset();
    test_patterns(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_prefixes, reset, reset),
        cmocka_unit_test_setup_teardown(test_links, reset, reset),
        cmocka_unit_test_setup_teardown(test_root_behind_link, reset, reset),
        cmocka_unit_test_setup_teardown(test_special_files, reset, reset),
        cmocka_unit_test_setup_teardown(test_urls, reset, reset),
        cmocka_unit_test_setup_teardown(test_bad_roots, reset, reset),
        cmocka_unit_test_setup_teardown(test_tenants, reset, reset),
        cmocka_unit_test_setup_teardown(test_tenant_below_all, reset, reset),
        cmocka_unit_test_setup_teardown(test_patterns, reset, reset),
        cmocka_unit_test_setup_teardown(test_without_openat2, reset, reset),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
