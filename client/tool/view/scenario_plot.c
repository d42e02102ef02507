/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "client/tool/scenario.h"

#define JOBS_SHOWN 10
#define WIDTH 760.0
#define HEIGHT 180.0
#define LEFT 60.0
#define TOP 50.0
#define GAP 60.0

struct scenario_panel {
    char *policy;
    double end_s, most;
    size_t jobs_n;
    struct {
        struct cw_sim_point *points;
        size_t n;
        double end_s;
    } jobs[JOBS_SHOWN];
};

void scenario_plot_add(struct scenario_plot *plot, const char *policy,
                       const struct cw_sim_result *result)
{
    CW_GROW(plot->panels, plot->n, plot->cap);
    struct scenario_panel *p = &plot->panels[plot->n++];
    *p = (struct scenario_panel){.policy = cw_mem_strdup(policy),
                                 .end_s = result->end_s,
                                 .most = 1,
                                 .jobs_n = CW_MIN(result->jobs_n, JOBS_SHOWN)};
    for (size_t j = 0; j < p->jobs_n; j++) {
        const struct cw_sim_job *job = &result->jobs[j];
        p->jobs[j].n = job->trace_n;
        p->jobs[j].end_s = job->end_s >= 0 ? job->end_s : result->end_s;
        p->jobs[j].points =
            job->trace_n ? cw_mem_dup(job->trace, job->trace_n * sizeof(*job->trace)) : NULL;
        for (size_t i = 0; i < job->trace_n; i++)
            p->most = fmax(p->most, job->trace[i].remote + job->trace[i].local);
    }
}

void scenario_plot_fini(struct scenario_plot *plot)
{
    for (size_t i = 0; i < plot->n; i++) {
        for (size_t j = 0; j < plot->panels[i].jobs_n; j++)
            cw_mem_free(plot->panels[i].jobs[j].points);
        cw_mem_free(plot->panels[i].policy);
    }
    cw_mem_free(plot->panels);
}

static void draw_steps(const struct scenario_panel *p, size_t j, double top, FILE *out)
{
    static const char *const colours[JOBS_SHOWN] = {"#1b6ca8", "#d1495b", "#2e933c", "#edae49",
                                                    "#6f2dbd", "#00798c", "#8d5524", "#ff6f59",
                                                    "#444444", "#98c1d9"};
    double x_of_s = WIDTH / fmax(p->end_s, 1e-9), y_of_n = HEIGHT / p->most, y = top + HEIGHT;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
            colours[j]);
    for (size_t i = 0; i < p->jobs[j].n; i++) {
        const struct cw_sim_point *at = &p->jobs[j].points[i];
        fprintf(out, "%.1f,%.1f ", LEFT + at->at_s * x_of_s, y);
        y = top + HEIGHT - (at->remote + at->local) * y_of_n;
        fprintf(out, "%.1f,%.1f ", LEFT + at->at_s * x_of_s, y);
    }
    fprintf(out, "%.1f,%.1f\"/>\n", LEFT + p->jobs[j].end_s * x_of_s, y);
}

static void draw_panel(const struct scenario_panel *p, double top, FILE *out)
{
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", LEFT, top - 8,
            p->policy);
    fprintf(out,
            "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" "
            "stroke=\"#999\"/>\n",
            LEFT, top, WIDTH, HEIGHT);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.0f</text>\n", LEFT - 6,
            top + 10, p->most);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">0</text>\n", LEFT - 6,
            top + HEIGHT);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.0f s</text>\n", LEFT + WIDTH,
            top + HEIGHT + 16, p->end_s);
    for (size_t j = 0; j < p->jobs_n; j++)
        draw_steps(p, j, top, out);
}

int scenario_plot_write(const struct scenario_plot *plot, const char *path, struct cw_err *err)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return cw_err_errno(err, errno, "write %s", path);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n",
            LEFT + WIDTH + 20, TOP + (HEIGHT + GAP) * (double)plot->n);
    fprintf(out,
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%.0f\" y=\"20\" "
            "font-size=\"15\">%s: workers over time</text>\n",
            LEFT, plot->title);
    for (size_t i = 0; i < plot->n; i++)
        draw_panel(&plot->panels[i], TOP + (HEIGHT + GAP) * (double)i, out);
    fputs("</svg>\n", out);
    bool bad = ferror(out) != 0;
    return fclose(out) != 0 || bad ? cw_err_errno(err, errno, "write %s", path) : 0;
}
