// SPDX-License-Identifier: Apache-2.0
// All jobs: how far they are, how long their trainers wait, and for what.
import { h, setHidden, setText } from './dom';
import { bytes, count, duration, percent, several } from './format';
import type { Store } from './store';
import { Table } from './table';
import type { Fleet, Job } from './types';
import type { View } from './view';

export const jobName = (job: Job): string => job.name || job.id;
const rate = (job: Job): number => (job.window && job.window.seconds > 0 ? job.window.batches / job.window.seconds : 0);
// What a job waits for, what went wrong with it, or what should be looked at.
export function waits(job: Job): string {
  if (job.error) return job.error;
  if (job.waits_for) return `${duration(job.waits_ms / 1000)}: ${job.waits_for}`;
  if (job.other_files) return job.other_files;
  return job.plan_error;
}
export const waitMark = (share: number): string => (share >= 0.3 ? 'bad' : share >= 0.05 ? 'warn' : '');

export function epochOf(job: Job): string {
  return `${job.epoch}${job.epochs ? ` of ${job.epochs}` : ''}`;
}

const columns = [
  { head: 'Job', text: jobName, sort: jobName, link: (j: Job) => `#/job/${encodeURIComponent(j.id)}` },
  { head: 'State', text: (j: Job) => j.state, sort: (j: Job) => j.state, mark: (j: Job) => (j.state === 'failed' ? 'bad' : '') },
  { head: 'Epoch', text: epochOf, number: true },
  { head: 'Done', text: (j: Job) => percent(j.epoch_done), sort: (j: Job) => j.epoch_done, bar: (j: Job) => j.epoch_done, number: true },
  { head: 'Batches/s', text: (j: Job) => (j.window ? count(rate(j)) : '-'), sort: rate, number: true },
  { head: 'Waits', text: (j: Job) => (j.window ? percent(j.window.wait_share) : '-'),
    sort: (j: Job) => j.window?.wait_share ?? 0, mark: (j: Job) => waitMark(j.window?.wait_share ?? 0), number: true },
  { head: 'Waits for', text: waits, wide: true },
  { head: 'Ready', text: (j: Job) => (j.window ? count(j.window.queue) : '-'), number: true },
  { head: 'Workers', text: (j: Job) => `${j.assigned}${j.wanted > 0 ? ` of ${count(j.wanted)}` : ''}`, sort: (j: Job) => j.assigned, number: true },
  { head: 'From cache', text: (j: Job) => (j.hits > 0 || j.cached_node ? percent(j.hit_share) : '-'), sort: (j: Job) => j.hit_share, number: true },
  { head: 'Tenant', text: (j: Job) => j.tenant, sort: (j: Job) => j.tenant },
];

function fleetLine(f: Fleet): string {
  return `${several(f.ready, 'worker')} ready${f.starting ? `, ${f.starting} starting` : ''}${f.draining ? `, ${f.draining} draining` : ''}; `
    + `${several(f.threads, 'thread')}; CPU ${f.cpu_cores.toFixed(1)}; ${bytes(f.budget_used)} of ${bytes(f.budget_bytes)}`;
}

export class JobsView implements View {
  readonly title = 'Jobs';
  readonly element: HTMLElement;
  private table = new Table<Job>('Jobs', columns, (j) => j.id, 'There are no jobs. cachew run starts one.');
  private fleet = h('p', { class: 'muted' });
  private alerts = h('p', { class: 'alert', role: 'status' });

  constructor() {
    this.element = h('div', {}, this.fleet, this.alerts, this.table.element);
  }

  update(store: Store): void {
    setText(this.fleet, store.fleet ? fleetLine(store.fleet) : '');
    const waiting = [...store.jobs.values()].filter((j) => j.waits_for && j.waits_ms >= 2000);
    const first = waiting[0];
    setHidden(this.alerts, !first);
    if (first) setText(this.alerts, `${jobName(first)} waits: ${first.waits_for}${waiting.length > 1 ? `; ${waiting.length - 1} more wait` : ''}`);
    this.table.update(store.jobs.values());
  }
}
