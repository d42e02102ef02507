/* SPDX-License-Identifier: Apache-2.0 */
/* Every metric, as METRIC(subject, name, type, help, value). The value is C in which `s` is the
 * subject (struct cw_metric_of in metrics.c); NO_VALUE means that there is none. Names end in the
 * unit (_seconds, _bytes, _ratio for 0 to 1), and those of counters in _total. Metrics of one
 * subject are neighbours. docs/metrics.md is generated from this file. */
METRIC(INFO, "cachew_info", GAUGE, "1; the label is the dispatcher's version.", 1)
METRIC(ONE, "cachew_dispatcher_generation", GAUGE,
       "Generation of the dispatcher: higher with each start.", (double)s->d->generation)
METRIC(ONE, "cachew_dispatcher_uptime_seconds", GAUGE, "Time since it began to serve.",
       s->d->server ? (double)(cw_clock_ms() - s->d->started_ms) / 1e3 : NO_VALUE)
METRIC(ONE, "cachew_dispatcher_leads", GAUGE,
       "With --lease: 1 while it holds the Lease, 0 while it stands by.",
       s->d->leader ? (double)cw_leader_holds(s->d->leader) : NO_VALUE)
METRIC(ONE, "cachew_lease_failures_total", COUNTER,
       "With --lease: tries to read or renew the Lease that failed.",
       s->d->leader ? (double)cw_leader_failures(s->d->leader) : NO_VALUE)
METRIC(ONE, "cachew_state_folder", GAUGE,
       "With --lease: number of the folder generation-N in which the state is.",
       above_zero((double)cw_state_folder(s->d->state)))
METRIC(ONE, "cachew_dispatcher_cpu_seconds_total", COUNTER, "CPU time of the dispatcher.",
       (double)cw_clock_process_cpu_ns() / 1e9)
METRIC(ONE, "cachew_clients", GAUGE, "Trainers that are connected.", (double)s->d->clients_n)
METRIC(ONE, "cachew_commit_failures_total", COUNTER, "Transactions of state.db that failed.",
       (double)s->d->counts.commits_failed)
METRIC(
    ONE, "cachew_unexplained_waits_total", COUNTER,
    "Times that a trainer waited for 30 s and nothing explains it, which is a mistake of cachew.",
    (double)s->d->counts.unexplained_waits)
METRIC(ONE, "cachew_workers_joined_total", COUNTER,
       "Workers that attached, including those that came back.",
       (double)s->d->counts.workers_joined)
METRIC(ONE, "cachew_workers_lost_total", COUNTER,
       "Workers that were lost: killed, silent or cut off.", (double)s->d->counts.workers_lost)
METRIC(ONE, "cachew_workers_starting", GAUGE,
       "Workers that the provisioner has started and that are not attached yet.", starting(s->d))
METRIC(ONE, "cachew_workers_wanted", GAUGE,
       "Workers that there should be, within the provisioner's limits.", wanted(s->d))
METRIC(ONE, "cachew_kube_watches_again_total", COUNTER,
       "With --provisioner kubernetes: watches of the API server that were begun again.",
       watches_again(s->d))
METRIC(ONE, "cachew_token_reviews_total", COUNTER,
       "With --token-review: questions to the API server who shows a token.",
       reviews_of(s->d, false))
METRIC(ONE, "cachew_token_review_failures_total", COUNTER,
       "With --token-review: such questions that were not answered.", reviews_of(s->d, true))
METRIC(ONE, "cachew_dispatcher_calls", GAUGE, "Calls and streams that are open.",
       (double)calls_of(s->d).open)
METRIC(ONE, "cachew_dispatcher_silent_calls", GAUGE,
       "Calls and streams that are open and have not said anything.", (double)calls_of(s->d).silent)
METRIC(ONE, "cachew_dispatcher_calls_refused_total", COUNTER,
       "Calls that were refused because too many others had not said anything.",
       (double)calls_of(s->d).refused)
METRIC(ONE, "cachew_dispatcher_calls_timed_out_total", COUNTER,
       "Calls that were ended because their first message did not come in time.",
       (double)calls_of(s->d).timed_out)
METRIC(ONE, "cachew_dispatcher_connections_total", COUNTER, "Connections that were taken.",
       (double)calls_of(s->d).connections)
METRIC(ONE, "cachew_dispatcher_connections_refused_total", COUNTER,
       "Connections that were refused because too few descriptors were left.",
       (double)calls_of(s->d).connections_refused)
METRIC(METHOD, "cachew_dispatcher_messages_total", COUNTER, "Messages that came.",
       (double)s->method->messages)
METRIC(
    METHOD_TIME, "cachew_dispatcher_longest_message_seconds", GAUGE,
    "CPU time of the loop's thread for the message that took the most of it; also of what is done "
    "for all messages of an iteration of the loop together (iteration end).",
    (double)s->method->longest_ns / 1e9)
METRIC(METHOD_TIME, "cachew_dispatcher_long_messages_total", COUNTER,
       "Messages, and ends of iterations, that took more than 10 ms of CPU time of the loop's "
       "thread.",
       (double)s->method->long_n)
METRIC(KUBE_REQUESTS, "cachew_kube_requests_total", COUNTER,
       "Requests to the API server; code 0: there was no answer.", (double)s->requests->n)
METRIC(DEPLOYMENT, "cachew_kube_replicas_wanted", GAUGE, "Pods that there should be.",
       (double)s->deployment->wanted)
METRIC(DEPLOYMENT, "cachew_kube_replicas_asked", GAUGE, "Pods that the Deployment asks for.",
       (double)s->deployment->asked)
METRIC(DEPLOYMENT, "cachew_kube_replicas_ready", GAUGE, "Pods that are ready.",
       (double)s->deployment->ready)
METRIC(DEPLOYMENT, "cachew_kube_workers", GAUGE, "Workers that are attached, in its pods.",
       (double)s->deployment->workers)
METRIC(DEPLOYMENT, "cachew_kube_pods_not_to_be_had", GAUGE,
       "Pods that have waited for more than a minute.", (double)s->deployment->not_to_be_had)
METRIC(DEPLOYMENT, "cachew_kube_deployment_held", GAUGE,
       "1: nothing is written to it, since somebody said so or keeps writing its number.",
       (double)s->deployment->held)
METRIC(POD_REASON, "cachew_kube_pods_waiting", GAUGE, "Pods that wait.", (double)s->reason->n)
METRIC(WORKER_STATE, "cachew_workers", GAUGE, "Workers that are attached.", (double)s->count)
METRIC(JOB_STATE, "cachew_jobs", GAUGE, "Jobs that the dispatcher keeps.", (double)s->count)
METRIC(DECISION_KIND, "cachew_decisions_total", COUNTER,
       "Decisions that were made (cachew decisions).", (double)s->d->counts.decisions[s->index])
METRIC(CACHE, "cachew_cache_bytes", GAUGE, "Bytes in the cache.",
       (double)s->cache->catalogue->bytes)
METRIC(CACHE, "cachew_cache_chunks", GAUGE, "Chunks in the cache.",
       (double)s->cache->catalogue->chunks_n)
METRIC(CACHE, "cachew_cache_quota_bytes", GAUGE, "Most bytes in the cache (--cache-quota).",
       above_zero((double)s->cache->catalogue->quota))
METRIC(CACHE, "cachew_cache_full", GAUGE,
       "1 while nothing more is written because the cache is full.", s->cache->full)
METRIC(CACHE, "cachew_cache_store_up", GAUGE, "1 while the dispatcher can reach the store.",
       !s->cache->unavailable)
METRIC(CACHE, "cachew_cache_evicted_chunks_total", COUNTER, "Chunks that were evicted.",
       (double)s->cache->catalogue->evicted)
METRIC(CACHE, "cachew_cache_damaged_chunks_total", COUNTER, "Chunks that were found damaged.",
       (double)s->cache->catalogue->damaged)
METRIC(CACHE, "cachew_cache_lost_records_total", COUNTER,
       "Records that workers computed and could not write.", (double)s->cache->lost)
METRIC(TENANT, "cachew_tenant_jobs", GAUGE, "Jobs that are not over.",
       (double)cw_tenant_load(s->d, s->tenant).jobs)
METRIC(TENANT, "cachew_tenant_worker_seconds_total", COUNTER,
       "Time of workers that the tenant's jobs have used.", used_by(s).remote_s)
METRIC(TENANT, "cachew_tenant_cpu_seconds_total", COUNTER,
       "CPU time that the tenant's jobs have used.", (double)used_by(s).cpu_ns / 1e9)
METRIC(TENANT, "cachew_tenant_cost_total", COUNTER,
       "What the tenant's jobs have cost (--worker-price, --client-price).", used_by(s).cost)
METRIC(JOB, "cachew_job_clients", GAUGE, "Trainers that are attached.", clients_of(s->job))
METRIC(JOB, "cachew_job_epoch", GAUGE, "The job's present epoch, from 0.",
       (double)s->job->first_epoch)
METRIC(JOB, "cachew_job_epoch_done_ratio", GAUGE, "Share of the present epoch that is consumed.",
       s->row->epoch_done)
METRIC(JOB, "cachew_job_batches_total", COUNTER, "Batches that the job's trainers took.",
       (double)s->row->batches)
METRIC(JOB, "cachew_job_taken_bytes_total", COUNTER,
       "Bytes of the batches that the job's trainers took.", (double)s->row->taken_bytes)
METRIC(JOB, "cachew_job_copies_total", COUNTER,
       "Times that batches were copied in the trainers' processes; 0 in shared memory.",
       (double)s->row->copies)
METRIC(JOB, "cachew_job_plan", GAUGE,
       "Number of the plan by which the job is computed; 0: none was made.",
       (double)s->job->plan.number)
METRIC(JOB, "cachew_job_plans_made_total", COUNTER, "Plans that were to be tried for the job.",
       (double)s->job->plan.made_n)
METRIC(JOB, "cachew_job_plans_changed_total", COUNTER, "Times that the job went over to a plan.",
       (double)s->job->plan.changed_n)
METRIC(JOB, "cachew_job_plans_dropped_total", COUNTER,
       "Plans of the job that a worker could not open.", (double)s->job->plan.dropped_n)
METRIC(JOB, "cachew_job_plan_predicted_seconds", GAUGE,
       "Time of threads that an element of the source takes by the last plan that was looked for.",
       s->job->plan.predicted_ns / 1e9)
METRIC(JOB, "cachew_job_plan_measured_seconds", GAUGE,
       "Time of threads that an element of the source has taken in operators by the job's plan.",
       s->job->plan.measured_ns / 1e9)
METRIC(JOB, "cachew_job_trainer_seconds_total", COUNTER,
       "Time of the job's trainers, waiting included.", s->row->trainer_s)
METRIC(JOB, "cachew_job_wait_seconds_total", COUNTER,
       "Time that the job's trainers waited for batches.", s->row->wait_s)
METRIC(JOB, "cachew_job_step_seconds", GAUGE,
       "Median time of the trainer's own step, in the last window.",
       s->row->window ? above_zero(s->row->window->step_s) : NO_VALUE)
METRIC(JOB, "cachew_job_ready_batches", GAUGE,
       "Batches that were ready at the trainer, mean of the last window.",
       s->row->window ? s->row->window->queue : NO_VALUE)
METRIC(JOB, "cachew_job_elements_total", COUNTER, "Elements of its output that workers computed.",
       (double)s->row->elements)
METRIC(JOB, "cachew_job_bytes_total", COUNTER, "Bytes of the output that workers computed.",
       (double)s->row->bytes)
METRIC(JOB, "cachew_job_cpu_seconds_total", COUNTER, "CPU time that workers used for the job.",
       (double)s->row->cpu_ns / 1e9)
METRIC(JOB, "cachew_job_cache_hits_total", COUNTER,
       "Elements read from the cache, at the node with most of them.", (double)s->row->hits)
METRIC(JOB, "cachew_job_skipped_elements_total", COUNTER, "Bad elements that were left out.",
       (double)s->row->skipped)
METRIC(JOB, "cachew_job_skipped_items_total", COUNTER,
       "Items that were skipped: no consumer gets them.", (double)s->job->skipped_items)
METRIC(JOB, "cachew_job_recomputed_items_total", COUNTER, "Items computed more than once.",
       (double)s->job->recomputed)
METRIC(JOB, "cachew_job_hedged_items_total", COUNTER,
       "Items leased to a second worker, because the first was late.", (double)s->job->hedged)
METRIC(JOB, "cachew_job_shared_items_total", COUNTER,
       "Items that workers took from another job's results.", (double)s->job->shared)
METRIC(JOB, "cachew_job_workers", GAUGE,
       "Workers of the job, including those on its trainers' hosts.", s->row->assigned)
METRIC(JOB, "cachew_job_local_workers", GAUGE, "Workers of the job on its trainers' hosts.",
       s->row->local)
METRIC(JOB, "cachew_job_workers_wanted", GAUGE,
       "Workers that the job's policy wants, without local ones.",
       s->job->scaling ? s->row->wanted : NO_VALUE)
METRIC(JOB, "cachew_job_worker_seconds_total", COUNTER, "Time of workers that the job has used.",
       s->job->usage.remote_s)
METRIC(JOB, "cachew_job_cost_total", COUNTER, "What the job has cost so far.", s->job->usage.cost)
METRIC(THREADS, "cachew_job_thread_seconds_total", COUNTER,
       "Time of the workers' threads for the job, by what they did or waited for.",
       s->thread_ns / 1e9)
METRIC(NODE, "cachew_node_elements_total", COUNTER, "Elements that the operator computed.",
       s->node->elements)
METRIC(NODE, "cachew_node_cache_hits_total", COUNTER,
       "Elements read from the cache at the operator's place.", s->node->hits)
METRIC(NODE, "cachew_node_cpu_seconds_total", COUNTER, "CPU time of the operator.",
       s->node->cpu_ns / 1e9)
METRIC(NODE, "cachew_node_wall_seconds_total", COUNTER,
       "Time of threads in the operator, waiting included.", s->node->wall_ns / 1e9)
METRIC(NODE, "cachew_node_source_waits_total", COUNTER,
       "Reads for which a computing thread waited for a server or a disk.", s->node->waits)
METRIC(NODE, "cachew_node_bytes_total", COUNTER, "Bytes that the operator gave.", s->node->bytes)
METRIC(WORKER, "cachew_worker_threads", GAUGE, "Threads that compute.", s->worker->threads)
METRIC(WORKER, "cachew_worker_cpu_ratio", GAUGE,
       "Share of the threads' time in which they used a CPU.", s->worker->cpu_share)
METRIC(WORKER, "cachew_worker_cpu_cores", GAUGE, "CPU seconds a second that the worker uses.",
       s->worker->cpu_cores)
METRIC(WORKER, "cachew_worker_memory_bytes", GAUGE, "Bytes of its budget that the worker uses.",
       (double)s->worker->budget_used)
METRIC(WORKER, "cachew_worker_memory_limit_bytes", GAUGE, "Budget of the worker.",
       (double)s->worker->budget_bytes)
METRIC(WORKER, "cachew_worker_leased_items", GAUGE, "Items that the worker has to compute.",
       leased_by(s->worker))
METRIC(WORKER, "cachew_worker_items_total", COUNTER,
       "Items that the worker has computed since it attached.", (double)s->worker->done_n)
METRIC(WORKER, "cachew_worker_silent_seconds", GAUGE, "Time since the worker's last message.",
       (double)(cw_clock_ms() - s->worker->last_heard_ms) / 1e3)
METRIC(WORKER, "cachew_worker_host_cpu_ratio", GAUGE,
       "Use of all CPUs of the worker's host by all processes.",
       s->worker->host_cpus ? s->worker->host_cpu_share : NO_VALUE)
METRIC(WORKER, "cachew_worker_host_load", GAUGE, "Load average of the worker's host, per CPU.",
       s->worker->host_cpus ? s->worker->host_load : NO_VALUE)
METRIC(TIER, "cachew_source_cache_bytes", GAUGE, "Bytes in a tier of a worker's source cache.",
       (double)s->tier->bytes)
METRIC(TIER, "cachew_source_cache_capacity_bytes", GAUGE, "Capacity of the tier.",
       above_zero((double)s->tier->capacity))
METRIC(TIER, "cachew_source_cache_hits_total", COUNTER, "Blocks that were found in the tier.",
       (double)s->tier->hits)
METRIC(TIER, "cachew_source_cache_misses_total", COUNTER, "Blocks that were not found in the tier.",
       (double)s->tier->misses)
