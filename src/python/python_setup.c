/* SPDX-License-Identifier: Apache-2.0 */
/* Which Python runs functions, and where it has its files. */
#include "python/python_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "loop/child.h"
#include "python/sandbox.h"

#define ANSWER_MAX_MS 60000
#define LINE_BYTES 65536
#define READABLE_MAX 100

const char *const cw_python_sandbox_names[] = {"on", "off", "auto", NULL};

/* Prints the interpreter's own path and what it reads, with tabs between them. */
static const char question[] =
    "import os, sys, sysconfig\n"
    "own = os.path.realpath(sys.executable)\n"
    "places = sysconfig.get_paths()\n" /* "data" is all of /usr, or of the environment */
    "modules = [places[key] for key in ('stdlib', 'platstdlib', 'purelib', 'platlib')]\n"
    "paths = [path for path in sys.path if path] + modules\n"
    "paths += [os.path.join(root, 'lib') for root in (sys.base_prefix, sys.base_exec_prefix)]\n"
    "paths += [os.path.join(sys.prefix, 'pyvenv.cfg')]\n"
    "kept = [path for path in dict.fromkeys(paths) if os.path.exists(path)]\n"
    "print('\\t'.join([sys.executable, own, *kept]))\n";

static struct {
    struct cw_mutex mutex;
    bool allowed, asked;
    char *name; /* of the interpreter, as it was given */
    struct cw_python_setup setup;
    struct cw_err error; /* of the question */
} python;

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

/* Returns the path of a program that is named as a shell finds it; NULL if there is none. */
static char *find_program(const char *name)
{
    const char *dirs = getenv("PATH");
    if (strchr(name, '/'))
        return is_program(name) ? cw_mem_strdup(name) : NULL;
    while (dirs && *dirs) {
        size_t n = strcspn(dirs, ":");
        char *path = cw_mem_printf("%.*s/%s", (int)n, dirs, name);
        if (n > 0 && is_program(path))
            return path;
        cw_mem_free(path);
        dirs += n + (dirs[n] == ':');
    }
    return NULL;
}

int cw_python_allow(const char *interpreter, enum cw_python_sandbox sandbox, struct cw_err *err)
{
    bool sandboxed = sandbox != CW_PYTHON_SANDBOX_OFF;
    int rc = sandboxed ? cw_sandbox_check(err) : 0;
    if (rc != 0 && sandbox == CW_PYTHON_SANDBOX_ON)
        return cw_err_wrap(err, "the sandbox of functions cannot be had");
    char *name = find_program(interpreter);
    if (!name)
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no program %s", interpreter);
    cw_python_forbid();
    cw_mutex_init(&python.mutex);
    python.name = name;
    python.setup.sandboxed = sandboxed && rc == 0;
    python.allowed = true;
    return 0;
}

void cw_python_forbid(void)
{
    if (!python.allowed)
        return;
    cw_mutex_fini(&python.mutex);
    for (size_t i = 0; python.setup.readable && python.setup.readable[i]; i++)
        cw_mem_free(python.setup.readable[i]);
    cw_mem_free(python.setup.readable);
    cw_mem_free(python.setup.interpreter);
    cw_mem_free(python.name);
    memset(&python, 0, sizeof(python));
}

bool cw_python_is_allowed(void)
{
    return python.allowed;
}

/* Takes over the answer to the question. */
static int take_answer(char *line, struct cw_err *err)
{
    char *rest = line;
    char *own = strsep(&rest, "\t");
    if (!own || own[0] != '/' || !rest)
        return cw_err_set(err, CW_E_UNAVAILABLE, "it is no Python: it answered \"%.100s\"", line);
    python.setup.interpreter = cw_mem_strdup(own);
    python.setup.readable = CW_NEW_ARRAY(char *, READABLE_MAX + 1);
    for (size_t n = 0; rest && n < READABLE_MAX; n++)
        python.setup.readable[n] = cw_mem_strdup(strsep(&rest, "\t"));
    return 0;
}

static int ask(struct cw_err *err)
{
    const char *const argv[] = {python.name, "-E", "-P", "-B", "-c", question, NULL};
    struct cw_child child = {0};
    cw_autofree char *line = cw_mem_new(LINE_BYTES);
    int rc = cw_child_start(&child, argv, NULL, 0, err);
    if (rc == 0)
        rc = cw_child_read_line(&child, ANSWER_MAX_MS, line, LINE_BYTES, err);
    (void)cw_child_stop(&child, ANSWER_MAX_MS);
    if (rc == 0)
        rc = take_answer(line, err);
    if (rc == 0)
        rc = cw_child_find("cachew-sandbox", python.setup.launcher, sizeof(python.setup.launcher),
                           err);
    return rc == 0 ? 0 : cw_err_wrap(err, "Python (%s)", python.name);
}

int cw_python_setup(const struct cw_python_setup **ret_setup, struct cw_err *err)
{
    if (!python.allowed)
        return cw_err_set(err, CW_E_DENIED,
                          "this process runs no functions in Python: a worker does that was "
                          "started with --allow-python");
    cw_mutex_lock(&python.mutex);
    if (!python.asked)
        (void)ask(&python.error);
    python.asked = true;
    cw_mutex_unlock(&python.mutex);
    if (python.error.code != 0) {
        if (err)
            *err = python.error;
        return python.error.code;
    }
    *ret_setup = &python.setup;
    return 0;
}
