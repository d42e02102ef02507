/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/bad_elements_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/interval.h"
#include "base/mem.h"
#include "client/model/client_job.h"
#include "client/tool/tool.h"

#define PRINTED_MAX 5 /* As many elements are named on stderr. */
#define LINE_MAX_BYTES 16384

static int fail(const struct tool_bad_list *list, const char *what, struct cw_err *err)
{
    return cw_err_errno(err, errno, "cannot %s %s", what, list->path);
}

bool tool_bad_list_is_fresh(const struct cachew_job *job)
{
    const struct cw_pos *at = &job->pos;
    return at->epoch == 0 && at->batches == 0 && job->used.n == 0;
}

/* ---- what an earlier run has written ---- */

static struct cw_set *written_of(struct tool_bad_list *list, uint64_t epoch)
{
    struct cw_set *set = cw_map_get(&list->written, epoch);
    if (!set) {
        set = CW_NEW(struct cw_set);
        cw_map_set(&list->written, epoch, set);
    }
    return set;
}

/* The head of a line: which batch, which of its lines this is, and whether it is the last. */
struct head {
    uint64_t epoch, batch, line, lines;
};

/* The members of a line that are read again stand first, in this order. */
static bool read_head(const char *line, struct head *ret_head)
{
    int end = 0;
    return sscanf(line,
                  "{\"epoch\":%" SCNu64 ",\"batch\":%" SCNu64 ",\"line\":%" SCNu64
                  ",\"lines\":%" SCNu64 ",%n",
                  &ret_head->epoch, &ret_head->batch, &ret_head->line, &ret_head->lines,
                  &end) == 4 &&
           end > 0;
}

static bool is_begun(const char *line)
{
    static const char head[] = "{\"epoch\":";
    return strncmp(line, head, CW_MIN(strlen(line), strlen(head))) == 0;
}

/* Reads the lines of an earlier run. *ret_end is where the last batch ends that is there as a
 * whole. */
static int read_written(struct tool_bad_list *list, long *ret_end, struct cw_err *err)
{
    cw_autofree char *line = cw_mem_new(LINE_MAX_BYTES);
    struct head head;
    rewind(list->file);
    *ret_end = 0;
    while (fgets(line, LINE_MAX_BYTES, list->file)) {
        bool whole = strchr(line, '\n');
        if (!whole && is_begun(line))
            break; /* The run was killed in the middle of this line. */
        if (!whole || !read_head(line, &head))
            return cw_err_set(err, CW_E_EXISTS,
                              "%s is no list of bad elements: give another file, or remove it",
                              list->path);
        if (head.line + 1 != head.lines)
            continue;
        cw_set_add(written_of(list, head.epoch), head.batch, head.batch + 1);
        *ret_end = ftell(list->file);
    }
    return ferror(list->file) ? fail(list, "read", err) : 0;
}

int tool_bad_list_open(struct tool_bad_list *list, const char *path, bool quiet, bool fresh,
                       struct cw_err *err)
{
    long end = 0;
    *list = (struct tool_bad_list){.path = path, .quiet = quiet};
    if (!path)
        return 0;
    list->file = fopen(path, "a+");
    if (!list->file)
        return fail(list, "write", err);
    struct stat st;
    if (fstat(fileno(list->file), &st) == 0 && !S_ISREG(st.st_mode))
        return 0; /* A device or a pipe has nothing of an earlier run. */
    int rc = fresh ? 0 : read_written(list, &end, err);
    if (rc != 0)
        return rc;
    return ftruncate(fileno(list->file), end) == 0 ? 0 : fail(list, "write", err);
}

/* ---- elements ---- */

void tool_bad_text(const struct cachew_bad_element *element, struct cw_str *out)
{
    size_t from = out->len;
    cw_str_addf(out, "epoch %" PRIu64 ", batch %" PRIu64 ": ", element->epoch, element->batch);
    if (element->source[0] == '\0')
        cw_str_addf(out, "%" PRIu64 " more: %s", element->elements, element->reason);
    else
        cw_str_addf(out, "%s: node \"%s\" (%s): %s", element->source, element->node, element->op,
                    element->reason);
    for (size_t i = from; i < out->len; i++)
        if ((unsigned char)out->s[i] < 0x20)
            out->s[i] = ' ';
}

static void add_text(struct cw_str *out, const char *name, const char *text)
{
    cw_str_addf(out, ",\"%s\":", name);
    cw_str_add_json(out, text, strlen(text));
}

/* The members of read_head come first. */
static void add_line(struct cw_str *out, const struct cachew_bad_element *e, size_t i, size_t n)
{
    cw_str_addf(out,
                "{\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64
                ",\"line\":%zu,\"lines\":%zu,\"elements\":%" PRIu64 ",\"position\":%" PRId64
                ",\"record\":%" PRId64,
                e->epoch, e->batch, i, n, e->elements, e->position, e->record);
    add_text(out, "file", e->file);
    add_text(out, "source", e->source);
    add_text(out, "node", e->node);
    add_text(out, "op", e->op);
    add_text(out, "reason", e->reason);
    cw_str_add(out, "}\n");
}

static void print_first(struct tool_bad_list *list, const struct cachew_bad_element *element)
{
    CW_STR_AUTO line = {0};
    list->n += element->elements;
    if (list->quiet || list->printed == PRINTED_MAX)
        return;
    tool_bad_text(element, &line);
    tool_line_clear();
    fprintf(stderr, "cachew: left out: %s\n", cw_str_text(&line));
    list->printed++;
}

int tool_bad_list_take(struct tool_bad_list *list, const struct cachew_job *job, struct cw_err *err)
{
    struct cachew_bad_element element = CACHEW_BAD_ELEMENT_INIT;
    CW_STR_AUTO lines = {0};
    size_t n = 0;
    while (cachew_job_bad(job, n, &element) == 0) {
        print_first(list, &element);
        n++;
    }
    if (n == 0 || !list->file)
        return 0;
    for (size_t i = 0; i < n && cachew_job_bad(job, i, &element) == 0; i++)
        add_line(&lines, &element, i, n);
    const struct cw_set *written = cw_map_get(&list->written, element.epoch);
    if (written && cw_set_has(written, element.batch))
        return 0;
    fwrite(cw_str_text(&lines), 1, lines.len, list->file);
    return fflush(list->file) == 0 || tool_is_interrupted() ? 0 : fail(list, "write", err);
}

int tool_bad_list_close(struct tool_bad_list *list, struct cw_err *err)
{
    uint64_t epoch;
    void *set;
    for (size_t i = 0; cw_map_next(&list->written, &i, &epoch, &set);) {
        cw_set_fini(set);
        cw_mem_free(set);
    }
    cw_map_fini(&list->written);
    if (!list->quiet && list->printed == PRINTED_MAX && list->n > PRINTED_MAX)
        fprintf(stderr, "cachew: left out: %" PRIu64 " more%s\n", list->n - PRINTED_MAX,
                list->path ? "" : " (--bad-list FILE has them all)");
    FILE *file = list->file;
    list->file = NULL;
    return file && fclose(file) != 0 ? fail(list, "write", err) : 0;
}

int tool_bad_fail(const struct cachew_error *error, bool skips)
{
    if (error->code != CACHEW_E_CORRUPT || skips)
        return tool_fail_cachew(error);
    return tool_fail("%s (--skip-bad leaves bad elements out, and --bad-list FILE names them)",
                     error->message);
}
