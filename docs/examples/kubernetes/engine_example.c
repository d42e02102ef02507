/* SPDX-License-Identifier: Apache-2.0 */
/* An engine of one's own for CacheBackends: caches lie in directories of a file system that dispatcher,
 * workers and controller have mounted. It is built with nothing but the header:
 *
 *   cc -shared -fPIC -o libcachew_engine_example.so engine_example.c
 *
 * and used with `cacheEngine: {plugin: {name: example, options: {directory: /mnt/fast}}}`, if the
 * controller has --plugin-dir and --allow-store dir:/mnt/fast. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cachew/engine.h>

static int say(struct cachew_engine_answer *answer, int verdict, const char *reason,
               const char *message)
{
    snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
    snprintf(answer->message, sizeof(answer->message), "%s", message);
    return verdict;
}

/* Finds the text of "directory" in the options. A real engine would have a parser for JSON. */
static int find_directory(const char *options, char *directory, size_t cap)
{
    const char *begin = strstr(options, "\"directory\":\"");
    const char *end;
    if (!begin)
        return -1;
    begin += strlen("\"directory\":\"");
    end = strchr(begin, '"');
    if (!end || *begin != '/' || (size_t)(end - begin) >= cap)
        return -1;
    memcpy(directory, begin, (size_t)(end - begin));
    directory[end - begin] = '\0';
    return 0;
}

static int place(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    char directory[512];
    if (find_directory(request->options, directory, sizeof(directory)) != 0)
        return say(answer, CACHEW_ENGINE_REFUSED, "OptionsInvalid",
                   "spec.cacheEngine.plugin.options.directory: give an absolute path");
    snprintf(answer->url, sizeof(answer->url), "dir:%s/%s", directory, request->uid);
    return CACHEW_ENGINE_READY;
}

static const char *path_of(const struct cachew_engine_request *request)
{
    return request->url + strlen("dir:");
}

static int prepare(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    if (mkdir(path_of(request), 0700) == 0 || errno == EEXIST)
        return CACHEW_ENGINE_READY;
    return say(answer, CACHEW_ENGINE_RETRY, "VolumeNotFound", strerror(errno));
}

/* The uid is the directory's name, so it cannot be another's. */
static int owns(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    (void)request;
    (void)answer;
    return CACHEW_ENGINE_READY;
}

static int erase(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    (void)rmdir(path_of(request)); /* what jobs have cached is gone; folders may be left */
    (void)answer;
    return CACHEW_ENGINE_READY;
}

const struct cachew_engine cachew_engine = {
    CACHEW_ENGINE_ABI, "example", place, prepare, owns, erase,
};
