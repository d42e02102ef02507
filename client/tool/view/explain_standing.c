/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a job as `cachew explain` shows it: its workers, what its trainers measured, and its
 * operators. */
#include "client/tool/view/explain.h"

#include <math.h>
#include <string.h>

#include "base/thread_use.h"
#include "client/tool/tool.h"
#include "data/identity.h"

#define LEAST_SHARE 0.005 /* Smaller shares of the threads' time are not printed. */

/* Prints what the threads of the workers did, the largest share first. */
static void print_threads(const Cachew__V1__TrainerWindow *w)
{
    struct {
        double share;
        const char *words;
    } uses[] = {
#define USE(field, words) {w->threads_##field, words},
        CW_THREAD_USES(USE)
#undef USE
    };
    CW_STR_AUTO out = {0};
    const char *before = "their threads were  ";
    for (size_t n = 0; n < CW_ARRAY_LEN(uses); n++) {
        size_t most = 0;
        for (size_t i = 1; i < CW_ARRAY_LEN(uses); i++)
            most = uses[i].share > uses[most].share ? i : most;
        if (uses[most].share < LEAST_SHARE)
            break;
        cw_str_addf(&out, "%s%.0f %% %s", before, 100 * uses[most].share, uses[most].words);
        uses[most].share = 0;
        before = ", ";
    }
    tool_print_lines(cw_str_text(&out), 2);
}

static void print_window(const Cachew__V1__TrainerWindow *w, size_t kept)
{
    if (!w) {
        printf("Nothing is measured yet of what its trainers do with their time.\n");
        return;
    }
    printf("The last window (%.1f s, %.0f batches; %zu are kept):\n", w->seconds, w->batches, kept);
    printf("  a batch every       %.2f ms\n", w->batches > 0 ? 1e3 * w->seconds / w->batches : 0);
    printf("  the trainer waits   %.1f %% of its time\n", 100 * w->wait_share);
    if (w->step_s > 0)
        printf("  its own step        %.2f ms: it would take %.1f batches/s\n", 1e3 * w->step_s,
               1 / w->step_s);
    printf("  batches ready       %.1f\n", w->queue);
    printf("  workers             %.0f, and %.0f beside the trainer\n", w->remote, w->local);
    if (w->rate > 0)
        printf("  one of them gives   %.1f batches/s when nothing holds it up\n", w->rate);
    printf("  CPU of their threads %.0f %%\n", 100 * w->cpu);
    print_threads(w);
}

void tool_explain_standing(const Cachew__V1__ExplainReply *reply)
{
    const Cachew__V1__JobRow *job = reply->job;
    CW_STR_AUTO out = {0};
    if (strcmp(job->autoplace, "off") != 0)
        cw_str_addf(
            &out,
            "Workers: %u, of these %u beside the trainer; autoplace %s wants %.0f remote and "
            "%.0f local ones, the fair share of the remote ones is %.0f.\n",
            job->assigned, job->local, job->autoplace, job->wanted, job->wanted_local,
            job->granted);
    else if (job->wanted > 0)
        cw_str_addf(
            &out,
            "Workers: %u, of these %u beside the trainer; autoscale %s wants %.0f, its fair "
            "share is %.0f.\n",
            job->assigned, job->local, job->autoscale, job->wanted, job->granted);
    else
        cw_str_addf(
            &out,
            "Workers: %u, of these %u beside the trainer: all that it may have (autoscale off); "
            "its fair share of their time is %.2f.\n",
            job->assigned, job->local, job->granted);
    if (*job->waits_for)
        cw_str_addf(&out, "A trainer has waited for %.1f s: %s.\n", (double)job->waits_ms / 1e3,
                    job->waits_for);
    if (job->other_files_n > 0)
        cw_str_addf(
            &out,
            "Workers that see other files than it was prepared with, and get nothing of it: %u. "
            "%s\n",
            job->other_files_n, job->other_files);
    enum cw_identity identity;
    if (cw_identity_parse(job->identity, "", &identity, NULL) == 0 && cw_identity_blind(identity))
        cw_str_addf(&out, "Its source files are identified by %s: %s.\n", job->identity,
                    cw_identity_blind(identity));
    if (job->batches > 0)
        cw_str_addf(
            &out,
            "Its trainers took %llu batches, %llu bytes; %llu batches were copied on their side.\n",
            (unsigned long long)job->batches, (unsigned long long)job->taken_bytes,
            (unsigned long long)job->copies);
    tool_print_lines(cw_str_text(&out), 0);
    print_window(reply->n_windows > 0 ? reply->windows[reply->n_windows - 1] : NULL,
                 reply->n_windows);
}

static void add_each(struct tool_table *table, double sum, double n)
{
    if (n > 0)
        tool_table_add(table, "%.1f us", sum / n / 1e3);
    else
        tool_table_add(table, "-");
}

void tool_explain_operators(const Cachew__V1__ExplainReply *reply)
{
    static const char *const heads[] = {"NODE", "OPERATOR", "COMPUTED", "HITS", "CPU SHARE",
                                        "CPU",  "WALL",     "WAITS",    "BYTES"};
    double cpu = 0;
    struct tool_table table;
    for (size_t i = 0; i < reply->n_nodes; i++)
        cpu += reply->nodes[i]->cpu_ns;
    if (reply->n_nodes == 0)
        return;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < reply->n_nodes; i++) {
        const Cachew__V1__NodeRow *node = reply->nodes[i];
        CW_STR_AUTO elements = {0};
        CW_STR_AUTO hits = {0};
        CW_STR_AUTO bytes = {0};
        tool_print_count(node->elements, &elements);
        tool_print_count(node->hits, &hits);
        tool_print_bytes(node->elements > 0 ? node->bytes / node->elements : 0, &bytes);
        tool_table_add(&table, "%s", node->name);
        tool_table_add(&table, "%s", node->op);
        tool_table_add(&table, "%s", cw_str_text(&elements));
        tool_table_add(&table, "%s", cw_str_text(&hits));
        tool_table_add(&table, "%.0f %%", cpu > 0 ? 100 * node->cpu_ns / cpu : 0);
        add_each(&table, node->cpu_ns, node->elements);
        add_each(&table, fmax(node->wall_ns, node->cpu_ns), node->elements);
        tool_table_add(&table, "%.0f", node->waits);
        tool_table_add(&table, "%s",
                       node->elements > 0 && node->bytes > 0 ? cw_str_text(&bytes) : "-");
    }
    printf("\nOperators, all workers together; times and bytes of one element:\n");
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}
