/* SPDX-License-Identifier: Apache-2.0 */
#include "api_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_door.h"
#include "controlled.h"
#include "core.h"
#include "disk.h"
#include "faults.h"
#include "planted.h"

#define LEASED 8         /* one in so many worlds */
#define FAULT_RATE 0.004 /* of requests and lines */
#define LATE_MS 40
#define AGAIN_NS (100 * SIM_MS)

static struct {
    const struct sim_cluster *cluster;
    struct fk_server *server;
    int64_t due_ns; /* when it has something to do; SIM_NEVER: nothing was planned */
    bool is_away;
    double rate;                     /* of faults */
    const struct sim_actor *cut_off; /* does not reach it; NULL: all do */
    struct sim_api_counts counts;
} api;

/* Where an actor wants the lines of a watch. */
struct sink {
    struct sink *next;
    struct fk_watch *watch; /* NULL: it was freed */
    struct sim_actor *actor;
    fk_watch_fn *fn;
    void *arg;
};
struct piece { /* on its way to the actor */
    struct sink *sink;
    char *bytes;
    size_t n;
    enum fk_watch_end end;
};
static struct sink *sinks;

static bool always, usual;

void sim_leases_always(void)
{
    always = true;
}

void sim_leases_usual(void)
{
    usual = true;
}

bool sim_are_leases_usual(void)
{
    return usual;
}

bool sim_is_leased(void)
{
    return (always ? sim_seed() != 0 : sim_seed() % LEASED == 5) && sim_planted() == 0;
}

static int64_t now_ms(void)
{
    return sim_now_ns() / SIM_MS;
}

/* ---- the server's memory is nobody's, whoever asks ---- */

static void plan_due(void);

static void on_due(void *arg)
{
    struct sim_mem *before = sim_mem_enter(NULL);

    (void)arg;
    api.due_ns = SIM_NEVER;
    fk_server_advance(api.server, now_ms());
    plan_due();
    sim_mem_enter(before);
}

static void plan_due(void)
{
    int64_t next_ms = fk_server_next_ms(api.server);

    if (next_ms == INT64_MAX || next_ms * SIM_MS >= api.due_ns)
        return;
    api.due_ns = next_ms * SIM_MS;
    sim_at(NULL, api.due_ns, on_due, NULL);
}

int64_t api_door_late_ms(void)
{
    return LATE_MS;
}

bool api_door_is_shut(void)
{
    return api.is_away || api.cut_off == sim_self();
}

static void count(const struct fk_request *request)
{
    bool is_read = strcmp(request->method, "GET") == 0;

    if (strstr(request->path, "/leases"))
        api.counts.leases++;
    else if (is_read && request->query && strstr(request->query, "watch="))
        return;
    else {
        api.counts.reads += is_read;
        api.counts.writes += !is_read;
        snprintf(api.counts.last, sizeof(api.counts.last), "%s of %s: %s %s",
                 sim_self() ? sim_name(sim_self()) : "", request->user_agent, request->method,
                 request->path);
    }
}

struct sim_api_counts sim_api_counts(void)
{
    return api.counts;
}

void sim_api_forget_counts(void)
{
    api.counts = (struct sim_api_counts){.writes = 0};
}

void api_door_ask(const struct fk_request *request, struct fk_answer *ret_answer)
{
    struct sim_mem *before = sim_mem_enter(NULL);

    count(request);
    fk_server_handle(api.server, now_ms(), request, ret_answer);
    plan_due();
    sim_mem_enter(before);
}

void api_door_answer_fini(struct fk_answer *answer)
{
    struct sim_mem *before = sim_mem_enter(NULL);

    fk_answer_fini(answer);
    sim_mem_enter(before);
}

/* ---- watches ---- */

static void deliver(void *arg)
{
    struct piece *piece = arg;

    if (piece->sink->fn)
        piece->sink->fn(piece->sink->arg, piece->bytes, piece->n, piece->end);
    sim_world_free(piece->bytes);
    sim_world_free(piece);
}

static void on_bytes(void *arg, const char *bytes, size_t n, enum fk_watch_end end)
{
    struct sink *sink = arg;
    struct piece *piece = sim_world_alloc(sizeof(*piece));

    *piece = (struct piece){.sink = sink, .bytes = sim_world_alloc(n + 1), .n = n, .end = end};
    memcpy(piece->bytes, bytes, n);
    sim_at(sink->actor, sim_now_ns(), deliver, piece);
}

static void free_watch(struct fk_watch *watch)
{
    struct sim_mem *before = sim_mem_enter(NULL);

    fk_watch_free(watch);
    sim_mem_enter(before);
}

static void on_death(void *arg)
{
    struct sink *sink = arg;

    sink->fn = NULL;
    free_watch(sink->watch);
    sink->watch = NULL;
}

void api_door_watch(struct fk_watch *watch, fk_watch_fn *fn, void *arg)
{
    struct sink *sink = sim_world_alloc(sizeof(*sink));

    *sink = (struct sink){.next = sinks, .watch = watch, .actor = sim_self(), .fn = fn, .arg = arg};
    sinks = sink;
    sim_on_death(sink->actor, on_death, sink);
    struct sim_mem *before = sim_mem_enter(NULL);
    fk_watch_start(watch, on_bytes, sink);
    plan_due();
    sim_mem_enter(before);
}

void api_door_watch_free(struct fk_watch *watch)
{
    struct sink *sink = watch ? sinks : NULL;

    while (sink && sink->watch != watch)
        sink = sink->next;
    if (sink) {
        sink->fn = NULL;
        sink->watch = NULL;
    }
    free_watch(watch);
}

/* ---- the world ---- */

/* What goes wrong next, and for how long. */
static void on_trouble(void *arg)
{
    bool is_over = api.cluster->whole_ns != SIM_NEVER;
    const struct sim_seat *seat = &api.cluster->seats[sim_below(api.cluster->seats_n)];

    (void)arg;
    api.is_away = !is_over && sim_one_in(4);
    api.cut_off = !is_over && sim_one_in(2) && seat->kind == SIM_DISPATCHER ? seat->actor : NULL;
    api.rate = is_over ? 0 : FAULT_RATE;
    fk_server_set_fault_rate(api.server, api.rate);
    if (is_over)
        return;
    if (sim_one_in(4))
        fk_server_jump_clock(api.server, sim_between(-3600000, 3600000));
    sim_log("API server: away=%d cut_off=%s", api.is_away,
            api.cut_off ? sim_name(api.cut_off) : "");
    sim_at(NULL, sim_now_ns() + sim_between(SIM_MS, 2 * SIM_S), on_trouble, NULL);
}

/* ret_says: whether the text stands in the answer; NULL: nobody asks. */
static int ask(const char *method, const char *path, const char *body, const char *text,
               bool *ret_says)
{
    struct sim_mem *before = sim_mem_enter(NULL);
    struct fk_answer answer = {0};
    const struct fk_request request = {.method = method,
                                       .path = path,
                                       .content_type = "application/json",
                                       .body = body,
                                       .body_n = body ? strlen(body) : 0};

    fk_server_set_fault_rate(api.server, 0);
    fk_server_handle(api.server, now_ms(), &request, &answer);
    fk_server_set_fault_rate(api.server, api.rate);
    int status = answer.status;
    if (ret_says)
        *ret_says = answer.body && strstr(answer.body, text);
    fk_answer_fini(&answer);
    plan_due();
    sim_mem_enter(before);
    return status;
}

int sim_api_ask(const char *method, const char *path, const char *body)
{
    return ask(method, path, body, NULL, NULL);
}

bool sim_api_says(const char *path, const char *text)
{
    bool says = false;

    return ask("GET", path, NULL, text, &says) == 200 && says;
}

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;

    if (!file || fseek(file, 0, SEEK_END) != 0)
        sim_fail("%s cannot be read", path);
    *ret_n = (size_t)ftell(file);
    rewind(file);
    text = malloc(*ret_n + 1);
    if (!text || fread(text, 1, *ret_n, file) != *ret_n)
        sim_fail("%s cannot be read", path);
    fclose(file);
    return text;
}

/* The definition of CacheBackend, as it is installed. */
static void load_definitions(void)
{
    static char *text;
    static size_t n;
    struct cw_err err = {0};
    struct sim_mem *before = sim_mem_enter(NULL);

    if (!text)
        text = read_file(SIM_CRDS, &n);
    if (fk_server_load(api.server, now_ms(), text, n, &err) != 0)
        sim_fail("%s: %s", SIM_CRDS, err.msg);
    sim_mem_enter(before);
}

void sim_api_begin(const struct sim_cluster *cluster, bool fails)
{
    static const char kubeconfig[] =
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u, namespace: team}}]\n"
        "clusters: [{name: c, cluster: {server: \"http://api\"}}]\n"
        "users: [{name: u, user: {}}]\n";
    const struct fk_options options = {.seed = sim_random(), .no_controllers = true};

    sim_disk_put(SIM_KUBECONFIG, kubeconfig);
    api.cluster = cluster;
    api.due_ns = SIM_NEVER;
    api.server = fk_server_new(&options);
    fk_server_open_to_all(api.server);
    (void)sim_api_ask("POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"team\"}}");
    if (sim_is_controlled(sim_seed()))
        load_definitions();
    if (fails)
        sim_at(NULL, sim_now_ns() + sim_between(SIM_MS, 2 * SIM_S), on_trouble, NULL);
}

void sim_api_end(void)
{
    if (api.server)
        fk_server_free(api.server);
    memset(&api, 0, sizeof(api));
    sinks = NULL;
}

struct again {
    struct sim_cluster *cluster;
    struct sim_seat *seat;
    const struct sim_actor *actor;
};

static void start_again(void *arg)
{
    const struct again *again = arg;

    if (again->seat->actor == again->actor)
        sim_seat_restart(again->cluster, again->seat);
}

static void on_end(void *arg)
{
    const struct again *again = arg;

    if (sim_status(again->actor) > 0)
        sim_at(NULL, sim_now_ns() + AGAIN_NS, start_again, arg);
}

void sim_api_start_again(struct sim_cluster *cluster, struct sim_seat *seat)
{
    struct again *again = sim_world_alloc(sizeof(*again));

    *again = (struct again){cluster, seat, seat->actor};
    sim_on_death(seat->actor, on_end, again);
}

void sim_check_leaders(const struct sim_cluster *cluster)
{
    const struct sim_seat *leader = NULL;

    for (size_t i = 0; i < cluster->seats_n; i++) {
        const struct sim_seat *seat = &cluster->seats[i];
        if (!seat->leads || !sim_seat_is_alive(seat) || !seat->leads())
            continue;
        if (leader)
            sim_fail("%s and %s lead at once", sim_name(leader->actor), sim_name(seat->actor));
        leader = seat;
    }
}
