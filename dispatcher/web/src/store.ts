// SPDX-License-Identifier: Apache-2.0
// What is known of the service: rows by id, kept by the events of the dispatcher.
import type { Cache, Decision, Fleet, Job, Look, Worker } from './types';

export type State = 'connecting' | 'live' | 'lost' | 'denied';
export interface Point { at: number; wait: number; rate: number; waits: (number | null)[] }
const HISTORY = 300; // points of a job, about one a second
const DECISIONS = 1000;

export class Store {
  state: State = 'connecting';
  trouble = '';
  version = '';
  uptime_ms = 0;
  fleet: Fleet | null = null;
  jobs = new Map<string, Job>();
  workers = new Map<string, Worker>();
  caches = new Map<string, Cache>();
  decisions: Decision[] = [];
  history = new Map<string, Point[]>();
  onChange: () => void = () => {};
  private events: EventSource | null = null;

  open(): void {
    this.close();
    const events = new EventSource('/api/events');
    this.events = events;
    events.addEventListener('open', () => this.clear());
    events.addEventListener('top', (e) => this.take(JSON.parse((e as MessageEvent<string>).data) as Look));
    events.addEventListener('trouble', (e) => this.say('lost', JSON.parse((e as MessageEvent<string>).data) as string));
    events.addEventListener('denied', (e) => {
      this.close();
      this.say('denied', JSON.parse((e as MessageEvent<string>).data) as string);
    });
    events.addEventListener('error', () => void this.lost(events));
  }

  close(): void {
    this.events?.close();
    this.events = null;
  }

  // The browser does not say why: asking once tells whether a token is needed.
  private async lost(events: EventSource): Promise<void> {
    this.say('lost', 'the dispatcher cannot be reached; trying again');
    if (events.readyState !== EventSource.CLOSED) return;
    let status = 0, why = '';
    try {
      const answer = await fetch('/api/catalogue');
      status = answer.status;
      if (!answer.ok) why = ((await answer.json()) as { error: string }).error;
    } catch { /* it is away */ }
    if (this.events !== events) return;
    if (status === 401) {
      this.close();
      this.say('denied', '');
    } else {
      if (why) this.say('lost', why);
      setTimeout(() => { if (this.events === events) this.open(); }, 3000);
    }
  }

  private say(state: State, trouble: string): void {
    this.state = state;
    this.trouble = trouble;
    this.onChange();
  }

  // A new stream begins with everything.
  private clear(): void {
    this.jobs.clear();
    this.workers.clear();
    this.caches.clear();
    this.decisions = [];
  }

  private take(look: Look): void {
    this.version = look.version;
    this.uptime_ms = look.uptime_ms;
    this.fleet = look.fleet;
    for (const job of look.jobs) this.jobs.set(job.id, job);
    for (const worker of look.workers) this.workers.set(worker.id, worker);
    for (const cache of look.caches) this.caches.set(String(cache.id), cache);
    for (const key of look.gone) {
      const id = key.slice(1);
      (key[0] === 'j' ? this.jobs : key[0] === 'w' ? this.workers : this.caches).delete(id);
      if (key[0] === 'j') this.history.delete(id);
    }
    this.decisions.push(...look.decisions);
    if (this.decisions.length > DECISIONS) this.decisions.splice(0, this.decisions.length - DECISIONS);
    const now = Date.now();
    for (const job of this.jobs.values()) this.note(job, now);
    this.say('live', '');
  }

  private note(job: Job, at: number): void {
    if (!job.window) return;
    let points = this.history.get(job.id);
    if (!points) this.history.set(job.id, (points = []));
    points.push({ at, wait: job.window.wait_share, rate: job.window.seconds > 0 ? job.window.batches / job.window.seconds : 0,
      waits: job.consumer_waits });
    if (points.length > HISTORY) points.shift();
  }
}

export async function get<T>(path: string): Promise<T> {
  const answer = await fetch(path);
  const body = (await answer.json()) as T & { error?: string };
  if (!answer.ok) throw new Error(body.error ?? `status ${answer.status}`);
  return body;
}
