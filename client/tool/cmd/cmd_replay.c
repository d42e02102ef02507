/* SPDX-License-Identifier: Apache-2.0 */
/* cachew replay: computes one batch again, in this process, and lists the elements in it. */
#include <inttypes.h>
#include <string.h>

#include "client/model/trainer_batch.h"
#include "client/tool/consume.h"
#include "client/tool/dump.h"
#include "client/tool/job.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "ops/plugin.h"

struct replay_options {
    const char *dispatcher, *job, *dump, *recipe, *file;
    int64_t epoch, step;
    uint64_t seed;
    bool json;
};
struct replay {
    struct replay_options opt;
    struct cw_recipe recipe; /* The recipe of the batch that is asked for. */
    bool known; /* The fingerprint is known, and the batch that is computed must have it. */
    /* The job as the dispatcher describes it, or with only the graph of the file. */
    struct tool_job job;
    struct cw_plan *plan;
    struct tool_rebuilt rebuilt;
    struct tool_dump_sum dumped;
    char digest[CW_HASH_TEXT_BYTES];
    char text[CW_RECIPE_BYTES];
};

/* ---- which batch, of which pipeline ---- */

static int ask_dispatcher(struct replay *r, struct cw_err *err)
{
    const struct replay_options *o = &r->opt;
    if (!o->job)
        return tool_job_find(o->dispatcher, r->recipe.fingerprint, r->recipe.seed, &r->job, err);
    int rc = tool_job_get(o->dispatcher, o->job, &r->job, err);
    if (rc < 0)
        return rc;
    if (r->job.manifest.type == CW_VALUE_NULL)
        return cw_err_set(err, CW_E_AGAIN, "no worker has prepared job %s yet", o->job);
    r->recipe.fingerprint = r->job.fingerprint;
    r->recipe.seed = r->job.seed;
    r->recipe.epoch = o->epoch >= 0 ? (uint64_t)o->epoch : tool_job_epoch(&r->job);
    r->recipe.number = (uint64_t)o->step;
    r->known = true;
    if (r->job.epochs && r->recipe.epoch >= r->job.epochs)
        return cw_err_set(err, CW_E_INVALID,
                          "there is no epoch %" PRIu64 ": job %s has %" PRIu64 ", from 0",
                          r->recipe.epoch, o->job, r->job.epochs);
    return 0;
}

static int find_pipeline(struct replay *r, struct cw_err *err)
{
    if (!r->opt.file)
        return ask_dispatcher(r, err);
    if (!r->opt.recipe) {
        r->recipe.seed = r->opt.seed;
        r->recipe.epoch = r->opt.epoch >= 0 ? (uint64_t)r->opt.epoch : 0;
        r->recipe.number = (uint64_t)r->opt.step;
    }
    return cw_graph_load(r->opt.file, &r->job.graph, err);
}

static int check_fingerprint(const struct replay *r, struct cw_err *err)
{
    char now[CW_HASH_TEXT_BYTES], then[CW_HASH_TEXT_BYTES];
    struct cw_hash fingerprint = cw_plan_info(r->plan)->fingerprint;
    if (!r->known || cw_hash_eq(fingerprint, r->recipe.fingerprint))
        return 0;
    cw_hash_text(fingerprint, now);
    cw_hash_text(r->recipe.fingerprint, then);
    if (!r->opt.file)
        return cw_err_set(err, CW_E_STATE,
                          "the operators of this program are not those that made the batch "
                          "(fingerprint %s, here %s): "
                          "use the version of cachew that the job ran with",
                          then, now);
    return cw_err_set(err, CW_E_STATE,
                      "%s is not what made the batch (fingerprint %s, now %s): the pipeline has "
                      "changed since, or its "
                      "source files have (which there are, their sizes, their times of change)",
                      r->opt.file, then, now);
}

static int make_plan(struct replay *r, struct cw_err *err)
{
    struct cw_checked *checked = NULL;
    const struct cw_value *manifest =
        r->job.manifest.type == CW_VALUE_NULL ? NULL : &r->job.manifest;
    int rc = tool_graph_check(r->job.graph, manifest, &checked, err);
    if (rc < 0)
        return rc;
    rc = cw_plan_new(checked, r->recipe.seed, manifest, &r->plan, err);
    cw_checked_unref(checked);
    return rc < 0 ? rc : check_fingerprint(r, err);
}

static int rebuild(struct replay *r, struct cw_err *err)
{
    const struct cw_recipe *recipe = &r->recipe;
    int rc = find_pipeline(r, err);
    if (rc == 0)
        rc = tool_job_check_files(&r->job.manifest, err);
    if (rc == 0)
        rc = make_plan(r, err);
    if (rc == 0)
        rc = tool_rebuild(r->plan, recipe->seed, recipe->epoch, recipe->number, &r->rebuilt, err);
    if (rc < 0)
        return rc;
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hash_text(tool_batch_digest(hasher, r->rebuilt.batch), r->digest);
    cw_hasher_free(hasher);
    (void)cachew_batch_recipe(r->rebuilt.batch, r->text, sizeof r->text);
    if (r->opt.dump)
        rc = tool_dump(r->opt.dump, r->plan, &r->rebuilt, r->text, r->digest, &r->dumped, err);
    return rc;
}

/* ---- printing ---- */

static uint64_t batch_bytes(const struct cachew_batch *batch)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < cachew_batch_tensors(batch); i++) {
        struct cachew_tensor tensor;
        if (cachew_batch_tensor(batch, i, &tensor) == 0)
            bytes += tensor.bytes;
    }
    return bytes;
}

static void print_tensors(const struct cw_batch *data, struct cw_str *out)
{
    CW_SPEC_AUTO spec = {0};
    for (size_t i = 0; i < data->n; i++)
        cw_spec_push(&spec, &data->tensors[i].field);
    cw_spec_print(&spec, out);
}

static void print_text(const struct replay *r)
{
    static const char *const heads[] = {"ELEMENT", "SOURCE"};
    const struct cachew_batch *batch = r->rebuilt.batch;
    const char *name = r->job.graph->name;
    CW_STR_AUTO size = {0};
    CW_STR_AUTO tensors = {0};
    tool_print_bytes((double)batch_bytes(batch), &size);
    print_tensors(batch->data, &tensors);
    printf("recipe %s\n%s%sseed %" PRIu64 ", epoch %" PRIu64 ", batch %" PRIu64
           "\ndigest %s\n%" PRIu64 " elements, %s: %s\n",
           r->text, name, *name ? ", " : "", batch->seed, batch->epoch, batch->number, r->digest,
           cachew_batch_elements(batch), cw_str_text(&size), cw_str_text(&tensors));
    if (cachew_batch_skipped(batch))
        printf("%" PRIu64 " bad elements are left out\n", cachew_batch_skipped(batch));
    if (r->opt.dump)
        printf("%" PRIu64 " files in %s: index.json says what each is\n", r->dumped.files,
               r->opt.dump);
    if (r->dumped.scaled)
        printf("images of floats are scaled from their least and greatest value to 0 and 255; the "
               "exact values are beside them, as .npy\n");
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < r->rebuilt.rows_n; i++) {
        tool_table_add(&table, "%zu", i);
        tool_table_add(&table, "%s", r->rebuilt.rows[i].source);
    }
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}

static void print_json(const struct replay *r)
{
    const struct cachew_batch *batch = r->rebuilt.batch;
    CW_STR_AUTO out = {0};
    CW_STR_AUTO tensors = {0};
    print_tensors(batch->data, &tensors);
    cw_str_addf(&out, "{\"recipe\":\"%s\",\"pipeline\":", r->text);
    cw_str_add_json(&out, r->job.graph->name, strlen(r->job.graph->name));
    cw_str_addf(&out,
                ",\"seed\":%" PRIu64 ",\"epoch\":%" PRIu64 ",\"batch\":%" PRIu64
                ",\"digest\":\"%s\",\"elements\":%" PRIu64 ",\"skipped\":%" PRIu64
                ",\"bytes\":%" PRIu64 ",\"tensors\":",
                batch->seed, batch->epoch, batch->number, r->digest, cachew_batch_elements(batch),
                cachew_batch_skipped(batch), batch_bytes(batch));
    cw_str_add_json(&out, cw_str_text(&tensors), tensors.len);
    cw_str_add(&out, ",\"sources\":[");
    for (size_t i = 0; i < r->rebuilt.rows_n; i++) {
        const char *source = r->rebuilt.rows[i].source;
        cw_str_add(&out, i ? "," : "");
        cw_str_add_json(&out, source, strlen(source));
    }
    cw_str_add(&out, "]");
    if (r->opt.dump) {
        cw_str_add(&out, ",\"dump\":");
        cw_str_add_json(&out, r->opt.dump, strlen(r->opt.dump));
        cw_str_addf(&out, ",\"files\":%" PRIu64, r->dumped.files);
    }
    cw_str_add(&out, "}");
    puts(cw_str_text(&out));
}

static int run_replay(struct replay *r)
{
    struct cw_err err = {0};
    int rc = rebuild(r, &err);
    if (rc == 0 && r->opt.json)
        print_json(r);
    else if (rc == 0)
        print_text(r);
    tool_rebuilt_fini(&r->rebuilt);
    cw_plan_unref(r->plan);
    tool_job_fini(&r->job);
    if (rc == 0)
        return TOOL_OK;
    cw_err_wrap(&err, "cannot replay");
    return tool_fail_err(&err);
}

/* Returns NULL if the command line says in exactly one way which batch it is; otherwise what is
 * wrong with it. */
static const char *check_options(struct replay *r, const char *const *words, size_t n)
{
    struct replay_options *o = &r->opt;
    for (size_t i = 0; i < n; i++) {
        if (!cw_str_starts(words[i], "cachew1:") && !o->file)
            o->file = words[i];
        else if (!o->recipe && cw_recipe_parse(words[i], &r->recipe))
            o->recipe = words[i];
        else
            return "a recipe is \"cachew1:FINGERPRINT:SEED:EPOCH:BATCH\", as `cachew run --batches "
                   "FILE --recipes` writes it";
    }
    r->known = o->recipe != NULL;
    if (o->recipe && (o->job || o->step >= 0 || o->epoch >= 0))
        return "the recipe says which batch: --job, --step and --epoch are for when there is none";
    if (o->job && o->file)
        return "the job says which pipeline: give no file";
    if (!o->recipe && !o->job && !o->file)
        return "which batch? give its recipe, or --job JOB --step N";
    if (!o->recipe && o->step < 0)
        return "which batch? give --step N";
    return NULL;
}

int tool_cmd_replay(int argc, char **argv)
{
    struct replay r = {.opt = {.dispatcher = tool_dispatcher(), .epoch = -1, .step = -1}};
    struct replay_options *o = &r.opt;
    struct cw_err err = {0};
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &o->dispatcher, "ADDRESS",
         "that knows the job: HOST:PORT or unix:/path (default: $CACHEW_DISPATCHER)", 0, 0},
        TOOL_ROW_TOKEN_FILE,
        {"job", 'j', CW_ARG_STR, &o->job, "JOB", "of this job, by name or id, instead of a recipe",
         0, 0},
        {"step", 0, CW_ARG_I64, &o->step, "N",
         "without a recipe: the batch's number in its epoch, from 0", 0, 9e18},
        {"epoch", 'e', CW_ARG_I64, &o->epoch, "E",
         "without a recipe: its epoch (default: the one that the job is in)", 0, 9e18},
        {"seed", 's', CW_ARG_U64, &o->seed, "S", "of a file without a recipe (default 0)", 0, 0},
        TOOL_ROW_PLUGIN("load operators of one's own; may stand several times"),
        {"dump", 0, CW_ARG_STR, &o->dump, "DIR",
         "write each intermediate tensor of each element into DIR", 0, 0},
        TOOL_ROW_JSON(&o->json, "print one JSON object"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew replay",
        .usage = "RECIPE [FILE.json] [options]\n       cachew replay --job JOB --step N "
                 "[options]\n       cachew replay FILE.json --step N [options]",
        .about = "Rebuilds one batch in this process, from source files that are readable here, "
                 "and prints its digest (the one "
                 "that `cachew run --batches` writes) and which records its elements are. The "
                 "pipeline is FILE.json, or what the "
                 "dispatcher stored of the job. Refuses when pipeline or source files are not what "
                 "they were.",
        .rows = rows,
        .tail = "examples:\n  cachew replay cachew1:8f...:7:0:120 photos.json --dump batch120\n"
                "  cachew replay --job resnet --step 120 --dispatcher host:7070\n",
    };
    const char *words[2];
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, words, 2, &n, &code))
        return code;
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    const char *wrong = check_options(&r, words, n);
    if (wrong) {
        fprintf(stderr, "cachew replay: %s\n", wrong);
        return TOOL_USAGE;
    }
    return run_replay(&r);
}
