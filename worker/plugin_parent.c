/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/plugin_parent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/call_note.h"
#include "base/clock.h"
#include "base/log.h"

#define LOOK_MS 500 /* how often calls are looked at */
#define OPEN_TIMES 10

/* A call as it was seen last. */
struct seen {
    uint64_t calls;
    int64_t since_ms;
};
struct state {
    const struct cw_plugin_parent *conf;
    struct cw_call_page *page;
    pid_t child;
    sigset_t signals;
    bool leaving;                    /* a signal has told the worker to go */
    const struct cw_call_slot *hung; /* the call for which the child was killed */
    struct seen seen[CW_CALL_THREADS_MAX];
    struct cw_worker_death died;
};

/* ---- whose operator it was ---- */

static const struct cw_call_slot *find_slot(const struct state *s)
{
    uint32_t crashed = atomic_load(&s->page->crashed);
    if (s->hung)
        return s->hung;
    if (crashed > 0 && crashed <= CW_CALL_THREADS_MAX)
        return &s->page->v[crashed - 1];
    for (size_t i = 0; i < CW_CALL_THREADS_MAX; i++)
        if (atomic_load(&s->page->v[i].inside))
            return &s->page->v[i];
    return NULL;
}

/* What is called without an item is to open a source, or to look at a pipeline: it may take longer. */
static int64_t limit_of(const struct state *s, const struct cw_call_slot *slot)
{
    return slot->has_item ? s->conf->limit_ms : OPEN_TIMES * s->conf->limit_ms;
}

static void what_happened(const struct state *s, int status, char *text, size_t bytes)
{
    if (s->hung)
        snprintf(text, bytes, "it has not returned for %lld s (--plugin-limit)",
                 (long long)limit_of(s, s->hung) / 1000);
    else if (WIFEXITED(status))
        snprintf(text, bytes, "it has ended the process with exit code %d", WEXITSTATUS(status));
    else
        snprintf(text, bytes, "it died of SIG%s (%s)", sigabbrev_np(WTERMSIG(status)),
                 sigdescr_np(WTERMSIG(status)));
}

static void describe(struct state *s, const struct cw_call_slot *slot, int status)
{
    struct cw_worker_death *died = &s->died;
    char what[160], node[200] = "", element[40] = "";
    what_happened(s, status, what, sizeof(what));
    if (slot->node[0])
        snprintf(node, sizeof(node), "node \"%s\", ", slot->node);
    if (slot->has_element)
        snprintf(element, sizeof(element), ", element %llu", (unsigned long long)slot->element);
    *died = (struct cw_worker_death){.worker_id = atomic_load(&s->page->process),
                                     .has_item = slot->has_item,
                                     .epoch = slot->epoch,
                                     .item = slot->item};
    snprintf(died->job, sizeof(died->job), "%s", slot->job);
    snprintf(died->text, sizeof(died->text), "%soperator %s%s: %s", node, slot->op, element, what);
}

/* Whether the child has died in an operator: then a fresh one is to take its place. A kill from outside is
 * nobody's fault. */
static bool is_operators(const struct state *s, int status)
{
    if (s->leaving)
        return false;
    if (s->hung)
        return true;
    bool killed =
        WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
    return !killed && find_slot(s) != NULL;
}

/* ---- the child ---- */

static void be_child(struct state *s, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)sigprocmask(SIG_UNBLOCK, &s->signals, NULL);
    cw_call_page_use(s->page);
    exit(s->conf->serve(s->conf->arg, s->died.text[0] ? &s->died : NULL));
}

static int start(struct state *s)
{
    const pid_t self = getpid();
    cw_call_page_clear(s->page);
    memset(s->seen, 0, sizeof(s->seen));
    s->hung = NULL;
    fflush(NULL);
    s->child = fork();
    if (s->child == 0)
        be_child(s, self);
    return s->child < 0 ? -errno : 0;
}

/* ---- waiting ---- */

static void look_for_hung(struct state *s)
{
    const int64_t now_ms = cw_clock_ms();
    for (size_t i = 0; s->conf->limit_ms > 0 && !s->hung && i < CW_CALL_THREADS_MAX; i++) {
        const struct cw_call_slot *slot = &s->page->v[i];
        const uint64_t calls = atomic_load(&slot->calls);
        if (!atomic_load(&slot->inside) || calls != s->seen[i].calls) {
            s->seen[i] = (struct seen){calls, now_ms};
        } else if (now_ms - s->seen[i].since_ms >= limit_of(s, slot)) {
            s->hung = slot;
            (void)kill(s->child, SIGKILL);
        }
    }
}

/* Waits until the child has ended, and returns its status. */
static int wait_for_child(struct state *s)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    for (int status = 0;;) {
        int signum = sigtimedwait(&s->signals, NULL, &look);
        if (signum == SIGTERM || signum == SIGINT) {
            s->leaving = true;
            (void)kill(s->child, signum);
        }
        if (waitpid(s->child, &status, WNOHANG) == s->child)
            return status;
        look_for_hung(s);
    }
}

/* Ends as the child has ended. */
static int end_like(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t only;
    (void)sigaction(WTERMSIG(status), &action, NULL);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, WTERMSIG(status));
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)raise(WTERMSIG(status));
    return 1;
}

int cw_plugin_parent_run(const struct cw_plugin_parent *parent)
{
    static struct state s;
    s = (struct state){.conf = parent, .page = cw_call_page_new()};
    if (!s.page) {
        fprintf(stderr, "cachew-worker: no memory for the page of calls\n");
        return 1;
    }
    (void)sigemptyset(&s.signals);
    (void)sigaddset(&s.signals, SIGTERM);
    (void)sigaddset(&s.signals, SIGINT);
    (void)sigaddset(&s.signals, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &s.signals, NULL);
    for (;;) {
        int rc = start(&s);
        if (rc < 0) {
            fprintf(stderr, "cachew-worker: fork: %s\n", strerror(-rc));
            return 1;
        }
        int status = wait_for_child(&s);
        if (!is_operators(&s, status))
            return end_like(status);
        describe(&s, find_slot(&s), status);
        cw_log_error("worker", "job=%s %s; a fresh process takes its place", s.died.job,
                     s.died.text);
    }
}
