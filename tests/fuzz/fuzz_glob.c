/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a pattern of files below a small tree. What is found is there, below it, once, and in order;
 * anything else is an error that says why. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/brace.h"
#include "io/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char root[] = "/tmp/fuzz_glob.XXXXXX";

static void remove_tree(void)
{
    static const char *const names[] = {"/a.jpg", "/b0.jpg", "/.h", "/d/a.jpg", "/d/e/10.tar",
                                        "/l",     "/d/e",    "/d",  ""};
    char path[64];
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", root, names[i]);
        (void)remove(path);
    }
}

static void make_tree(void)
{
    static const char *const files[] = {"a.jpg", "b0.jpg", ".h", "d/a.jpg", "d/e/10.tar"};
    CW_ASSERT(mkdtemp(root));
    int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CW_ASSERT(mkdirat(at, "d", 0700) == 0 && mkdirat(at, "d/e", 0700) == 0);
    CW_ASSERT(symlinkat("d", at, "l") == 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        int fd = openat(at, files[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        CW_ASSERT(fd >= 0 && close(fd) == 0);
    }
    close(at);
    (void)atexit(remove_tree);
}

static void check_found(const struct cw_paths *paths)
{
    struct stat st;
    for (size_t i = 0; i < paths->n; i++) {
        CW_ASSERT(strncmp(paths->v[i], root, strlen(root)) == 0);
        CW_ASSERT(stat(paths->v[i], &st) == 0 && S_ISREG(st.st_mode));
        CW_ASSERT(i == 0 || strcmp(paths->v[i - 1], paths->v[i]) < 0);
    }
}

static void find(const char *text)
{
    struct cw_paths paths = {0};
    struct cw_err err = {0};
    char *pattern = cw_mem_printf("%s/%s", root, text);
    if (cw_glob(pattern, 1000, NULL, &paths, &err) == 0) {
        cw_paths_sort(&paths);
        check_found(&paths);
    } else {
        CW_ASSERT(err.msg[0] != '\0');
    }
    cw_paths_fini(&paths);
    cw_mem_free(pattern);
}

static void expand(const char *text)
{
    struct cw_paths texts = {0};
    struct cw_err err = {0};
    if (cw_brace_expand(text, &texts, &err) == 0)
        CW_ASSERT(texts.n >= 1 && texts.n <= CW_BRACE_TEXTS_MAX);
    else
        CW_ASSERT(err.msg[0] != '\0');
    cw_paths_fini(&texts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool is_made;
    if (!is_made)
        make_tree();
    is_made = true;
    char *text = cw_mem_strndup((const char *)data, n);
    if (n < 200)
        expand(text);
    /* Steps upwards lead out of the tree. */
    if (n < 200 && !strstr(text, ".."))
        find(text);
    cw_mem_free(text);
    return 0;
}
