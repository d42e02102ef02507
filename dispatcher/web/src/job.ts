// SPDX-License-Identifier: Apache-2.0
// One job: what it waits for, its wait over time, its pipeline with costs, what its workers' threads
// do, and what was decided.
import { actButton, who } from './act';
import { ShareChart } from './chart';
import { DecisionsTable } from './decisions';
import { h, setHidden, setText, setWidth } from './dom';
import { Elements } from './elements';
import { bytes, count, duration, percent } from './format';
import { GraphView } from './graph';
import { epochOf, jobName, waits } from './jobs';
import { get } from './store';
import type { Store } from './store';
import type { Explained, Graph, Job, Window } from './types';
import type { View } from './view';

const LOOK_MS = 2000;
const uses: [string, string][] = [
  ['computing', 'computing'], ['cpu', 'waiting for a CPU'], ['limit', 'paused by --cpu-limit'],
  ['source', 'waiting for the source'], ['store', "waiting for the cache's store"],
  ['inside', 'waiting inside other operators'], ['network', 'waiting for the network'],
  ['trainer', 'waiting for the trainer'], ['lease', 'waiting for work'],
];
const share = (w: Window, use: string): number => w[`threads_${use}`] ?? 0;

class Threads {
  readonly element: HTMLElement;
  private rows = uses.map(([, words]) => ({
    bar: h('span', { class: 'bar' }), text: h('span'), item: h('li', {}), words }));

  constructor() {
    for (const row of this.rows) row.item.append(row.bar, row.text);
    this.element = h('section', { class: 'panel' }, h('h2', {}, "What the workers' threads do"),
      h('ul', { class: 'bars' }, ...this.rows.map((r) => r.item)));
  }

  update(w: Window | undefined): void {
    this.rows.forEach((row, i) => {
      const s = w ? share(w, uses[i]?.[0] ?? '') : 0;
      setHidden(row.item, s < 0.005);
      setWidth(row.bar, s);
      setText(row.text, `${percent(s)} ${row.words}`);
    });
  }
}

export class JobView implements View {
  title: string;
  readonly element: HTMLElement;
  private facts = h('dl', { class: 'facts' });
  private values: HTMLElement[] = [];
  private waits = h('p', { class: 'alert', role: 'status' });
  private chart = new ShareChart('Share of its time that the trainer waits', 'Consumer');
  private threads = new Threads();
  private graph: GraphView | null = null;
  private place = h('div', {}, h('p', { class: 'muted' }, 'Loading.'));
  private says = h('p');
  private bad = h('p', { class: 'muted' });
  private elements: Elements;
  private decisions = new DecisionsTable('Decisions about this job', false);
  private before: { at: number; share: number }[] = []; // windows from before the page was opened
  private timer = 0;
  private closed = false;

  constructor(private id: string) {
    this.title = `Job ${id}`;
    this.elements = new Elements(id);
    who().then((w) => this.elements.allow(w.elements)).catch(() => { /* it is not shown */ });
    for (const head of ['State', 'Epoch', 'Done', 'Batches/s', 'Own step', 'Ready', 'Workers', 'Computed', 'Worker time', 'From cache']) {
      const value = h('dd');
      this.values.push(value);
      this.facts.append(h('div', {}, h('dt', {}, head), value));
    }
    this.element = h('div', {}, this.waits, this.facts, h('section', { class: 'panel' }, this.chart.element),
      h('div', { class: 'columns' },
        h('section', { class: 'panel' }, h('h2', {}, 'Pipeline'), this.place, this.bad),
        h('div', {}, this.threads.element,
          h('section', { class: 'panel' }, h('h2', {}, 'What its policies would say now'), this.says))),
      this.elements.element, this.decisions.element,
      actButton('Remove this job', 'The job ends for its trainers, and what is known of it is forgotten.', () => `do=remove&job=${encodeURIComponent(id)}`));
    void this.load();
  }

  private async load(): Promise<void> {
    try {
      const graph = await get<Graph | null>(`/api/graph?job=${encodeURIComponent(this.id)}`);
      if (this.closed) return;
      if (graph) {
        this.graph = new GraphView(graph);
        this.place.replaceChildren(this.graph.element);
      }
      await this.look();
    } catch (e) {
      this.place.replaceChildren(h('p', { class: 'muted' }, (e as Error).message));
    }
  }

  private async look(): Promise<void> {
    try {
      const e = await get<Explained>(`/api/explain?job=${encodeURIComponent(this.id)}`);
      if (this.closed) return;
      const last = e.windows[e.windows.length - 1];
      if (last && !this.before.length) {
        this.before = e.windows.map((w) => ({ at: Date.now() / 1000 - (last.at_s - w.at_s), share: w.wait_share }));
      }
      this.graph?.update(e);
      this.threads.update(last);
      setText(this.says, e.says.map((d) => `${d.kind} ${d.policy}: ${d.choice ?? ''}: ${d.reason}`).concat(e.now ? [`autocache ${e.now.policy}: ${e.now.reason}`] : []).join(' '));
      setHidden(this.bad, e.bad_n === 0);
      setText(this.bad, `${e.bad_n} bad elements were left out${e.bad[0] ? `, the first: ${e.bad[0].reason} (${e.bad[0].node}, ${e.bad[0].file})` : ''}`);
    } catch { /* the state of the connection says it */ }
    if (!this.closed) this.timer = window.setTimeout(() => void this.look(), LOOK_MS);
  }

  update(store: Store): void {
    const job = store.jobs.get(this.id) ?? [...store.jobs.values()].find((j) => j.name === this.id);
    const why = job ? waits(job) : store.state === 'live' ? 'There is no such job any more.' : '';
    setHidden(this.waits, !why);
    setText(this.waits, why);
    if (job) this.paint(job);
    const points = store.history.get(job?.id ?? '') ?? [];
    const live = points.map((p) => ({ at: p.at / 1000, share: p.wait, parts: p.waits })), first = live[0]?.at ?? Infinity;
    this.chart.update([...this.before.filter((p) => p.at < first), ...live]);
    this.decisions.update(store.decisions.filter((d) => d.job === this.id || (job && d.job === job.id)));
  }

  private paint(job: Job): void {
    const w = job.window;
    const values = [
      job.state, epochOf(job), `${percent(job.epoch_done)} (${count(job.consumed)} of ${count(job.items)} batches)`,
      w && w.seconds > 0 ? count(w.batches / w.seconds) : '-', w && w.step_s > 0 ? duration(w.step_s) : '-',
      w ? count(w.queue) : '-', `${job.assigned}${job.wanted > 0 ? ` of ${count(job.wanted)} wanted` : ''}`,
      `${count(job.elements)} rows, ${bytes(job.bytes)}`, duration(job.worker_seconds), `${count(job.hits)} rows`];
    this.values.forEach((node, i) => setText(node, values[i] ?? ''));
    this.title = `Job ${jobName(job)}`;
  }

  close(): void {
    this.closed = true;
    this.elements.close();
    window.clearTimeout(this.timer);
  }
}
