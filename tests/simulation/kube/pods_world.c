/* SPDX-License-Identifier: Apache-2.0 */
#include "pods_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_http.h"
#include "kubernetes/jpath.h"
#include "sim.h"
#include "support/cm.h"

#define STEP_MS 100
#define TICK_MS 1000

struct cw_dispatcher made;
struct pods_world world;

/* What becomes of a pod, by its uid. */
struct life {
    struct life *next;
    char uid[64];
    int64_t begun_ms, ending_ms;
    struct cw_worker *worker;
};
static struct life *lives;
static struct cw_timer *kubelet, *tick, *pass;
static uint64_t workers_n;
static char server_url[] = "http://api";
static char kubeconfig[64];

/* ---- the server ---- */

int world_ask(const char *method, const char *path, const char *body)
{
    struct fk_answer answer = {0};
    cw_autofree char *copy = cw_mem_strdup(path);
    char *query = strchr(copy, '?');

    if (query)
        *query++ = '\0';
    const struct fk_request request = {.method = method,
                                       .path = copy,
                                       .query = query,
                                       .user_agent = "kubectl/v1.34",
                                       .content_type = strcmp(method, "PATCH") == 0
                                                           ? "application/merge-patch+json"
                                                           : "application/json",
                                       .token = "admin",
                                       .body = body,
                                       .body_n = body ? strlen(body) : 0};
    fk_server_handle(world.server, cw_clock_ms(), &request, &answer);
    int status = answer.status;
    fk_answer_fini(&answer);
    fake_http_settle();
    return status;
}

void world_make_node(const char *name, int pods)
{
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\"}}", name);
    cw_autofree char *path = cw_mem_printf("/api/v1/nodes/%s/status", name);
    cw_autofree char *status = cw_mem_printf(
        "{\"status\":{\"allocatable\":{\"pods\":\"%d\"},\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"True\"}]}}",
        pods);
    assert_int_equal(world_ask("POST", "/api/v1/nodes", body), 201);
    assert_int_equal(world_ask("PATCH", path, status), 200);
}

/* Each Deployment has a label of its own, which its pods may only be put on nodes with. */
void world_make_deployment(const char *text, int replicas)
{
    cw_autofree char *name = cw_mem_strndup(text, strcspn(text, ","));
    cw_autofree char *body = cw_mem_printf(
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\"},"
        "\"spec\":{\"replicas\":%d,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},\"template\":{"
        "\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"w\","
        "\"image\":\"x:1\"}]}}}}",
        name, replicas, name, name);
    assert_int_equal(world_ask("POST", DEPLOYMENTS, body), 201);
}

void world_scale(const char *deployment, int replicas)
{
    cw_autofree char *path = cw_mem_printf(DEPLOYMENTS "/%s/scale", deployment);
    cw_autofree char *body = cw_mem_printf("{\"spec\":{\"replicas\":%d}}", replicas);

    assert_int_equal(world_ask("PATCH", path, body), 200);
}

static const json_t *find(const json_t *all, const char *name)
{
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)(uintptr_t)all, i,
                       one) if (cw_str_eq(fk_text(one, "metadata.name"), name)) return one;
    return NULL;
}

int world_replicas(const char *deployment)
{
    json_auto_t *all = fk_server_objects(world.server, "apps", "deployments");
    return (int)fk_int(find(all, deployment), "spec.replicas", -1);
}

int world_pods(void)
{
    json_auto_t *all = fk_server_objects(world.server, "", "pods");
    int n = 0;
    size_t i;
    json_t *pod;

    json_array_foreach(all, i, pod) n += !fk_at(pod, "metadata.deletionTimestamp");
    return n;
}

int world_annotated(void)
{
    json_auto_t *all = fk_server_objects(world.server, "", "pods");
    int n = 0;
    size_t i;
    json_t *pod;

    json_array_foreach(all, i, pod)
    {
        const json_t *annotations = fk_at(pod, "metadata.annotations");
        const char *cost = json_string_value(json_object_get(annotations, CW_KUBE_DELETION_COST));
        n += cost && !fk_at(pod, "metadata.deletionTimestamp");
    }
    return n;
}

int world_events(const char *reason)
{
    json_auto_t *all = fk_server_objects(world.server, "events.k8s.io", "events");
    int n = 0;
    size_t i;
    json_t *event;

    json_array_foreach(all, i, event) n += cw_str_eq(fk_text(event, "reason"), reason);
    return n;
}

/* ---- the kubelet ---- */

static struct life *life_of(const char *uid)
{
    struct life *life = lives;

    while (life && strcmp(life->uid, uid) != 0)
        life = life->next;
    if (life)
        return life;
    life = CW_NEW(struct life);
    *life = (struct life){.next = lives};
    snprintf(life->uid, sizeof(life->uid), "%s", uid);
    return lives = life;
}

static struct cw_worker *add_worker(const char *name, const char *uid)
{
    struct cw_worker *w = CW_NEW(struct cw_worker);

    workers_n++;
    *w = (struct cw_worker){.d = &made,
                            .id = workers_n,
                            .said_hello = true,
                            .address = cw_mem_printf("10.0.0.%d:7071", (int)workers_n),
                            .only_job = cw_mem_strdup(""),
                            .pod_name = cw_mem_strdup(name),
                            .pod_namespace = cw_mem_strdup("ns0"),
                            .pod_uid = cw_mem_strdup(uid),
                            .since_ms = cw_clock_ms(),
                            .next = made.workers};
    if (made.workers)
        made.workers->prev = w;
    made.workers = w;
    made.workers_n++;
    cw_worker_recount(w);
    cw_provision_kubernetes.attached(made.provision.state, w);
    return w;
}

static void remove_worker(struct cw_worker *w)
{
    w->said_hello = false;
    cw_worker_recount(w);
    made.workers_n--;
    *(w->prev ? &w->prev->next : &made.workers) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    cw_mem_free(w->address);
    cw_mem_free(w->only_job);
    cw_mem_free(w->pod_name);
    cw_mem_free(w->pod_namespace);
    cw_mem_free(w->pod_uid);
    cw_mem_free(w);
}

struct cw_worker *world_claim(const struct cw_worker *whose)
{
    return add_worker(whose->pod_name, whose->pod_uid);
}

void world_unclaim(struct cw_worker *worker)
{
    remove_worker(worker);
}

static void detach(struct life *life)
{
    if (life->worker)
        remove_worker(life->worker);
    life->worker = NULL;
}

static int set_status(const json_t *pod, const char *status)
{
    cw_autofree char *path =
        cw_mem_printf("/api/v1/namespaces/ns0/pods/%s/status", fk_text(pod, "metadata.name"));
    cw_autofree char *body = cw_mem_printf("{\"status\":%s}", status);

    return world_ask("PATCH", path, body);
}

static bool is_stuck(const json_t *pod)
{
    return world.stuck && cw_str_starts(fk_text(pod, "metadata.name"), world.stuck);
}

static void stick(const json_t *pod)
{
    if (!fk_at(pod, "status.containerStatuses"))
        (void)set_status(pod,
                         "{\"containerStatuses\":[{\"name\":\"w\",\"restartCount\":0,\"state\":{"
                         "\"waiting\":{\"reason\":\"ImagePullBackOff\",\"message\":\"Back-off "
                         "pulling image \\\"x:1\\\"\"}}}]}");
}

static void boot(struct life *life, const json_t *pod)
{
    cw_autofree char *status = cw_mem_printf(
        "{\"phase\":\"Running\",\"podIP\":\"10.0.0.%d\",\"containerStatuses\":null,"
        "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\","
        "\"status\":\"True\"}]}",
        (int)workers_n + 1);

    if (!cw_str_eq(fk_text(pod, "status.phase"), "Running") && set_status(pod, status) != 200)
        return; /* by a fault */
    if (!world.without_workers)
        life->worker = add_worker(fk_text(pod, "metadata.name"), life->uid);
}

static void end(struct life *life, const json_t *pod)
{
    cw_autofree char *path = cw_mem_printf("/api/v1/namespaces/ns0/pods/%s?gracePeriodSeconds=0",
                                           fk_text(pod, "metadata.name"));

    detach(life);
    (void)world_ask("DELETE", path, NULL);
}

static void run_pod(const json_t *pod, int64_t now)
{
    struct life *life = life_of(fk_text(pod, "metadata.uid"));

    if (fk_at(pod, "metadata.deletionTimestamp")) {
        life->ending_ms = life->ending_ms ? life->ending_ms : now + world.drain_ms;
        if (now >= life->ending_ms)
            end(life, pod);
    } else if (fk_text(pod, "spec.nodeName")) {
        life->begun_ms = life->begun_ms ? life->begun_ms : now;
        if (is_stuck(pod))
            stick(pod);
        else if (!life->worker && now - life->begun_ms >= world.boot_ms)
            boot(life, pod);
    }
}

static bool is_there(const json_t *all, const char *uid)
{
    size_t i;
    json_t *pod;

    json_array_foreach((json_t *)(uintptr_t)all, i,
                       pod) if (cw_str_eq(fk_text(pod, "metadata.uid"), uid)) return true;
    return false;
}

/* Of a pod that has gone without an end nothing may go on. */
static void lose_gone(const json_t *all)
{
    for (struct life *life = lives; life; life = life->next)
        if (life->worker && !is_there(all, life->uid))
            detach(life);
}

static void on_kubelet(void *arg)
{
    json_auto_t *all = fk_server_objects(world.server, "", "pods");
    size_t i;
    json_t *pod;

    (void)arg;
    lose_gone(all);
    json_array_foreach(all, i, pod) run_pod(pod, cw_clock_ms());
    if (world.each)
        world.each();
    fake_http_settle();
}

/* ---- the dispatcher ---- */

void world_aim(void)
{
    int64_t now = cw_clock_ms();

    made.provision.kind->tick(made.provision.state, now);
    made.provision.kind->aim(made.provision.state, world.wanted, now);
}

static void on_tick(void *arg)
{
    (void)arg;
    world_aim();
}

static void open_dispatcher(void)
{
    struct cw_err err = {0};

    made.started_ms = cw_clock_ms();
    made.provision = (struct cw_provision){.kind = &cw_provision_kubernetes};
    if (made.provision.kind->open(&made, &made.provision.state, &err) != CW_OK)
        sim_fail("%s", err.msg);
}

void world_restart_dispatcher(void)
{
    made.provision.kind->close(made.provision.state);
    for (struct cw_worker *w = made.workers; w; w = w->next) {
        w->leaving = false;
        cw_worker_recount(w);
    }
    open_dispatcher();
}

struct cw_cluster *world_cluster(void)
{
    return made.provision.state;
}

int world_workers(bool leaving)
{
    int n = 0;

    for (const struct cw_worker *w = made.workers; w; w = w->next)
        n += w->leaving == leaving;
    return n;
}

int world_requests(const char *verb)
{
    struct cw_cluster_requests row;
    int n = 0;

    for (size_t i = 0; cw_cluster_next_requests(&made, &i, &row);)
        if (strcmp(row.verb, verb) == 0)
            n += (int)row.n;
    return n;
}

void world_forget_requests(void)
{
    world_cluster()->requests_n = 0;
}

static void on_passed(void *arg)
{
    (void)arg;
    cw_loop_stop(world.loop);
}

void world_pass(int64_t ms)
{
    cw_timer_start(pass, ms, 0);
    cw_loop_run(world.loop);
}

static void write_kubeconfig(void)
{
    snprintf(kubeconfig, sizeof(kubeconfig), "/tmp/cachew-pods-world-%d", (int)getpid());
    FILE *f = fopen(kubeconfig, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\",\"contexts\":[{"
            "\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\",\"namespace\":\"ns0\"}}],"
            "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"%s\"}}],\"users\":[{\"name\":"
            "\"u\",\"user\":{\"token\":\"dispatcher\"}}]}\n",
            server_url);
    fclose(f);
}

void world_begin(const char *const *deployments, int replicas)
{
    const struct fk_options options = {.seed = sim_random(), .wall_ms = cw_clock_wall_ms()};

    memset(&made, 0, sizeof(made));
    workers_n = 0;
    world = (struct pods_world){.loop = cw_loop_new(),
                                .server = fk_server_new(&options),
                                .boot_ms = 2000,
                                .drain_ms = 1000};
    fk_server_set_token(world.server, "admin", "admin", "system:masters");
    fk_server_set_token(world.server, "dispatcher", "system:serviceaccount:ns0:cachew-dispatcher",
                        "system:masters");
    fake_http_begin(world.loop, world.server, 50);
    assert_int_equal(world_ask("POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"ns0\"}}"),
                     201);
    write_kubeconfig();
    made.loop = world.loop;
    made.options = (struct cw_options){.provisioner = &cw_provision_kubernetes,
                                       .max_workers = 100,
                                       .grace_ms = WORLD_GRACE_MS,
                                       .scale_in_ms = WORLD_SCALE_IN_MS,
                                       .kubeconfig = kubeconfig};
    for (; *deployments; deployments++) {
        made.options.kube_deployments.v[made.options.kube_deployments.n++] = *deployments;
        world_make_deployment(*deployments, replicas);
    }
    open_dispatcher();
    pass = cw_timer_new(world.loop, on_passed, NULL);
    kubelet = cw_timer_new(world.loop, on_kubelet, NULL);
    tick = cw_timer_new(world.loop, on_tick, NULL);
    cw_timer_start(kubelet, STEP_MS, STEP_MS);
    cw_timer_start(tick, TICK_MS, TICK_MS);
}

void world_end(void)
{
    made.provision.kind->close(made.provision.state);
    while (lives) {
        struct life *life = lives;
        lives = life->next;
        detach(life);
        cw_mem_free(life);
    }
    cw_timer_free(pass);
    cw_timer_free(kubelet);
    cw_timer_free(tick);
    fake_http_end();
    fk_server_free(world.server);
    cw_loop_free(world.loop);
    (void)remove(kubeconfig);
}
