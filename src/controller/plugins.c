/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plug-ins. All but the fields of a load belongs to the loop thread. */
#include "controller/plugins.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "loop/child.h"

#define PROBE_MS 20000 /* a file that takes longer to be loaded hangs */
#define AGAIN_MS 10000 /* what could not be loaded is tried again after so long */

struct plugin {
    struct cw_plugins *plugins;
    char *path;
    bool loading;
    const struct cachew_engine *engine; /* NULL: it could not be loaded */
    struct cw_err err;                  /* then why */
    int64_t tried_ms;                   /* when it was tried last, to the end; by cw_clock_ms */
};
struct cw_plugins {
    struct cw_loop *loop;
    char *dir;
    struct cw_strmap by_name;
    size_t loads; /* under way */
    cw_loop_fn *loaded;
    void *arg;
};

/* ---- one file ---- */

static int check(const struct cachew_engine *engine, const char *path, struct cw_err *err)
{
    if (engine->abi != CACHEW_ENGINE_ABI)
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "%s is made for version %d of cachew/engine.h, and this controller has %d: "
            "build it anew",
            path, engine->abi, CACHEW_ENGINE_ABI);
    if (!engine->name || !engine->place || !engine->prepare || !engine->owns || !engine->erase)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: its cachew_engine lacks a name or a function",
                          path);
    return 0;
}

int cw_plugin_load(const char *path, const struct cachew_engine **ret_engine, struct cw_err *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return cw_err_set(err, CW_E_NOT_FOUND, "%s", dlerror());
    const struct cachew_engine *engine = dlsym(library, "cachew_engine");
    int rc = engine ? check(engine, path, err)
                    : cw_err_set(err, CW_E_UNSUPPORTED, "%s exports no cachew_engine", path);
    if (rc == 0)
        *ret_engine = engine;
    else
        (void)dlclose(library);
    return rc;
}

/* Has a child load it, and says what became of that child. */
static int probe(const char *path, struct cw_err *err)
{
    struct cw_child child = {0};
    char program[4096], line[512] = "";
    int rc = cw_child_find("cachew-controller", program, sizeof(program), err);
    const char *const argv[] = {program, "--check-plugin", path, NULL};
    if (rc == 0)
        rc = cw_child_start(&child, argv, NULL, 0, err);
    if (rc != 0)
        return cw_err_wrap(err, "%s", path);
    rc = cw_child_read_line(&child, PROBE_MS, line, sizeof(line), err);
    if (rc == CW_E_TIMEOUT)
        cw_child_kill(&child, 9);
    int status = cw_child_stop(&child, PROBE_MS);
    if (rc == CW_E_TIMEOUT)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: it hangs when it is loaded", path);
    if (WIFSIGNALED(status))
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: it crashes when it is loaded (signal %d)",
                          path, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s",
                          line[0] != '\0' ? line : "its process ended when it was loaded");
    return 0;
}

/* ---- loading ---- */

static void on_loaded(void *arg)
{
    struct plugin *plugin = arg;
    plugin->loading = false;
    plugin->tried_ms = cw_clock_ms();
    plugin->plugins->loads--;
    plugin->plugins->loaded(plugin->plugins->arg);
}

static void load(void *arg)
{
    struct plugin *plugin = arg;
    plugin->err = (struct cw_err){0};
    if (probe(plugin->path, &plugin->err) == 0)
        (void)cw_plugin_load(plugin->path, &plugin->engine, &plugin->err);
    cw_loop_post(plugin->plugins->loop, on_loaded, plugin);
}

static void begin(struct plugin *plugin)
{
    struct cw_thread thread = {0};
    plugin->loading = true;
    plugin->plugins->loads++;
    cw_thread_start(&thread, "cachew-plugin", load, plugin);
    cw_thread_detach(&thread);
}

static struct plugin *add(struct cw_plugins *plugins, const char *name)
{
    struct plugin *plugin = CW_NEW(struct plugin);
    plugin->plugins = plugins;
    plugin->path = cw_mem_printf("%s/libcachew_engine_%s.so", plugins->dir, name);
    (void)cw_strmap_set(&plugins->by_name, name, plugin);
    begin(plugin);
    return plugin;
}

int cw_plugin_find(struct cw_plugins *plugins, const char *name,
                   const struct cachew_engine **ret_engine, struct cw_err *err)
{
    struct plugin *plugin = cw_strmap_get(&plugins->by_name, name);
    if (!plugin)
        plugin = add(plugins, name);
    else if (!plugin->loading && !plugin->engine && cw_clock_ms() - plugin->tried_ms > AGAIN_MS)
        begin(plugin);
    if (plugin->loading)
        return cw_err_set(err, CW_E_AGAIN, "%s is being loaded", plugin->path);
    if (!plugin->engine)
        return cw_err_set(err, plugin->err.code, "spec.cacheEngine.plugin.name: %.400s",
                          plugin->err.msg);
    *ret_engine = plugin->engine;
    return 0;
}

/* ---- all ---- */

struct cw_plugins *cw_plugins_new(struct cw_loop *loop, const char *dir, cw_loop_fn *loaded,
                                  void *arg)
{
    struct cw_plugins *plugins = CW_NEW(struct cw_plugins);
    *plugins =
        (struct cw_plugins){.loop = loop, .dir = cw_mem_strdup(dir), .loaded = loaded, .arg = arg};
    return plugins;
}

bool cw_plugins_free(struct cw_plugins *plugins)
{
    const char *name;
    void *value;
    if (plugins && plugins->loads > 0)
        return false;
    for (size_t i = 0; plugins && cw_strmap_next(&plugins->by_name, &i, &name, &value);) {
        struct plugin *plugin = value;
        cw_mem_free(plugin->path);
        cw_mem_free(plugin);
    }
    if (plugins) {
        cw_strmap_fini(&plugins->by_name);
        cw_mem_free(plugins->dir);
    }
    cw_mem_free(plugins);
    return true;
}
