/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the folders of cgroups by /proc/self/cgroup, which has one line for each hierarchy. */
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text_file.h"

#define PATH_BYTES 4096

struct walk {
    const char *root, *controller;
    cw_cgroup_visit_fn *visit;
    void *arg;
};

/* Visits a group and those above it. In a container the path of the group may be one that only the
 * host knows: then the folders do not exist, and what is mounted at the top is the container's own
 * group. */
static void climb(const struct walk *walk, int version, const char *mount, const char *group)
{
    char path[PATH_BYTES], at[PATH_BYTES];
    snprintf(at, sizeof(at), "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        int n = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%s", walk->root, mount, at);
        if (n > 0 && (size_t)n < sizeof(path))
            walk->visit(walk->arg, version, path);
        char *slash = strrchr(at, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Whether a name is among the controllers, which are separated by commas. */
static bool is_among(const char *controllers, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = controllers; (at = strstr(at, name)); at += len)
        if ((at == controllers || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
            return true;
    return false;
}

/* Takes one line: number of the hierarchy, controllers, path. Version 2 names no controllers. */
static void take_line(const struct walk *walk, char *line)
{
    char mount[PATH_BYTES];
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    if (*controllers == '\0') {
        climb(walk, 2, "", group);
    } else if (is_among(controllers, walk->controller)) {
        snprintf(mount, sizeof(mount), "/%s", walk->controller);
        climb(walk, 1, mount, group);
    }
}

void cw_cgroup_visit(const char *root, const char *controller, cw_cgroup_visit_fn *visit, void *arg)
{
    const struct walk walk = {root, controller, visit, arg};
    const size_t cap = 64 * 1024;
    cw_autofree char *text = cw_mem_new(cap);
    char path[PATH_BYTES], *rest = NULL;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (!cw_text_file_read(path, text, cap))
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(&walk, line);
}
