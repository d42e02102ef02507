// SPDX-License-Identifier: Apache-2.0
// Workers, by the hosts that they are on: a tile a host, as full as its CPUs are.
import { actButton } from './act';
import { h, setAttribute, setHidden, setText, setWidth } from './dom';
import { bytes, count, percent, several } from './format';
import type { Store } from './store';
import { PAGE, Table } from './table';
import type { Worker } from './types';
import type { View } from './view';

const HOSTS = 24; // tiles; the other rows that the document may have are workers
interface Host { id: string; name: string; workers: Worker[] }

const trouble = (w: Worker): string => w.unreachable || w.other_files || (w.silent_ms > 0 ? `silent for ${Math.round(w.silent_ms / 1000)} s` : '');
const columns = [
  { head: 'Worker', text: (w: Worker) => w.address, sort: (w: Worker) => w.address },
  { head: 'State', text: (w: Worker) => w.state, sort: (w: Worker) => w.state, mark: (w: Worker) => (w.state === 'ready' ? '' : 'warn') },
  { head: 'Threads', text: (w: Worker) => String(w.threads), sort: (w: Worker) => w.threads, number: true },
  { head: 'CPU', text: (w: Worker) => percent(w.cpu_share), sort: (w: Worker) => w.cpu_share, bar: (w: Worker) => w.cpu_share, number: true },
  { head: 'Host CPU', text: (w: Worker) => (w.host_cpu_share === null ? '-' : percent(w.host_cpu_share)), sort: (w: Worker) => w.host_cpu_share ?? 0, number: true },
  { head: 'Load', text: (w: Worker) => w.host_load?.toFixed(2) ?? '-', sort: (w: Worker) => w.host_load ?? 0, number: true },
  { head: 'Memory', text: (w: Worker) => `${bytes(w.budget_used)} of ${bytes(w.budget_bytes)}`, sort: (w: Worker) => w.budget_used, number: true },
  { head: 'Leased', text: (w: Worker) => count(w.leased), sort: (w: Worker) => w.leased, number: true },
  { head: 'Done', text: (w: Worker) => count(w.done), sort: (w: Worker) => w.done, number: true },
  { head: 'Jobs', text: (w: Worker) => String(w.jobs.length), sort: (w: Worker) => w.jobs.length, number: true },
  { head: 'Trouble', text: trouble, wide: true },
];

function hosts(workers: Iterable<Worker>): Host[] {
  const by = new Map<string, Host>();
  for (const w of workers) {
    let host = by.get(w.host);
    if (!host) by.set(w.host, (host = { id: w.host, name: w.node || w.address.replace(/:\d+$/, ''), workers: [] }));
    host.workers.push(w);
  }
  return [...by.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

interface Tile { item: HTMLElement; name: HTMLElement; says: HTMLElement; bar: HTMLElement }

export class WorkersView implements View {
  readonly title = 'Workers';
  readonly element: HTMLElement;
  private table = new Table<Worker>('Workers', columns, (w) => w.id, 'No worker is attached.', PAGE - HOSTS, (w) => this.show(w));
  private detail = h('dialog', { 'aria-labelledby': 'worker-head' });
  private map = h('ul', { class: 'hosts' });
  private more = h('p', { class: 'muted' });
  private tiles: Tile[] = [];

  constructor() {
    this.element = h('div', {}, h('section', { class: 'panel' }, h('h2', {}, 'Hosts'), this.map, this.more), this.table.element, this.detail);
  }

  private show(w: Worker): void {
    const rows: [string, string][] = [['State', w.state], ['Id', w.id], ['Host', w.host], ['Node', w.node], ['Pod', w.pod], ['Jobs', w.jobs.join(', ')], ['Trouble', trouble(w)]];
    this.detail.replaceChildren(
      h('div', { class: 'tools' }, h('h2', { id: 'worker-head' }, `Worker ${w.address}`),
        actButton('Drain', 'It finishes what it has begun, hands back the rest, and leaves.', () => `do=drain&worker=${encodeURIComponent(w.id)}`),
        h('button', { type: 'button', click: () => this.detail.close() }, 'Close')),
      h('dl', { class: 'facts' }, ...rows.filter(([, text]) => text).map(([head, text]) => h('div', {}, h('dt', {}, head), h('dd', {}, text)))));
    this.detail.showModal();
  }

  // The busiest hosts, if there are more than the document may have.
  update(store: Store): void {
    let all = hosts(store.workers.values());
    const n = all.length;
    if (n > HOSTS) {
      const busy = (x: Host) => x.workers[0]?.host_cpu_share ?? 0;
      all = all.sort((a, b) => busy(b) - busy(a)).slice(0, HOSTS);
    }
    while (this.tiles.length < all.length) this.add();
    while (this.tiles.length > all.length) this.tiles.pop()?.item.remove();
    all.forEach((host, i) => this.paint(this.tiles[i], host));
    setHidden(this.more, n <= HOSTS);
    setText(this.more, `${HOSTS} of ${n} hosts: those whose CPUs are busiest.`);
    this.table.update(store.workers.values());
  }

  private add(): void {
    const tile = { item: h('li'), name: h('b'), says: h('span', { class: 'muted' }), bar: h('span', { class: 'bar', 'aria-hidden': 'true' }) };
    tile.item.append(tile.bar, tile.name, tile.says);
    this.tiles.push(tile);
    this.map.append(tile.item);
  }

  private paint(tile: Tile | undefined, host: Host): void {
    const first = host.workers[0];
    if (!tile || !first) return;
    const busy = first.host_cpu_share, ill = host.workers.filter((w) => w.state !== 'ready' || trouble(w)).length;
    setText(tile.name, host.name);
    setText(tile.says, `${several(host.workers.length, 'worker')}${ill ? `, ${ill} in trouble` : ''}; `
      + (busy === null ? 'load unknown' : `CPU ${percent(busy)}, load ${first.host_load?.toFixed(2) ?? '-'}`));
    setWidth(tile.bar, busy ?? 0);
    setAttribute(tile.item, 'class', ill ? 'ill' : '');
  }
}
