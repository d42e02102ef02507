/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the directory of our own programs, wherever this program or library was installed. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "loop/child.h"

struct search {
    const char *program;
    char *ret_path;
    size_t cap;
    struct cw_str seen; /* the directories that were searched, for the message */
};

static bool try_dir(struct search *search, const char *dir)
{
    int n = snprintf(search->ret_path, search->cap, "%s/%s", dir, search->program);

    if (n > 0 && (size_t)n < search->cap && access(search->ret_path, X_OK) == 0)
        return true;
    cw_str_addf(&search->seen, "%s%s", search->seen.len ? ", " : "", dir);
    return false;
}

/* Tries the directory of the file, and the bin directories that may lie beside it. */
static bool try_around(struct search *search, const char *file, const char *const *places)
{
    cw_autofree char *dir = realpath(file, NULL);
    char *slash = dir ? strrchr(dir, '/') : NULL;

    if (!slash)
        return false;
    *slash = '\0';
    for (; *places; places++) {
        cw_autofree char *place = cw_mem_printf("%s%s", dir, *places);
        if (try_dir(search, place))
            return true;
    }
    return false;
}

static bool try_all(struct search *search)
{
    static const char *const around_program[] = {"", "/../bin", NULL};
    /* the library is in lib, or in lib/<triplet> */
    static const char *const around_library[] = {"/../bin", "/../../bin", NULL};
    static const char mark;
    const char *from_env = getenv("CACHEW_BIN_DIR");
    Dl_info info;

    if (from_env && *from_env && try_dir(search, from_env))
        return true;
    if (try_around(search, "/proc/self/exe", around_program))
        return true;
    if (dladdr(&mark, &info) != 0 && info.dli_fname &&
        try_around(search, info.dli_fname, around_library))
        return true;
    return try_dir(search, CW_INSTALL_BINDIR);
}

int cw_child_find(const char *program, char *ret_path, size_t cap, struct cw_err *err)
{
    struct search search = {.program = program, .ret_path = ret_path, .cap = cap};
    bool found = try_all(&search);
    int rc = CW_OK;

    if (!found)
        rc = cw_err_set(err, CW_E_NOT_FOUND,
                        "program %s not found (looked in %s; CACHEW_BIN_DIR says where)", program,
                        cw_str_text(&search.seen));
    cw_str_fini(&search.seen);
    return rc;
}
