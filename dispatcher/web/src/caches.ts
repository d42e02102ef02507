// SPDX-License-Identifier: Apache-2.0
// Caches by name, the data sets in them, and what the catalogue of the chosen one holds.
import { h, setText } from './dom';
import { bytes, count, duration, percent } from './format';
import { get } from './store';
import type { Store } from './store';
import { PAGE, Table } from './table';
import type { Cache, Catalogue, CatalogueRow, Source } from './types';
import type { View } from './view';

const LOOK_MS = 5000;
const columns = [
  { head: 'Cache', text: (c: Cache) => c.name, sort: (c: Cache) => c.name },
  { head: 'State', text: (c: Cache) => (c.away ? `away: ${c.why}` : c.full ? (c.full_why ? `full: ${c.full_why}` : 'full') : c.state), mark: (c: Cache) => (c.away ? 'bad' : c.full ? 'warn' : '') },
  { head: 'Bytes', text: (c: Cache) => bytes(c.bytes), sort: (c: Cache) => c.bytes, number: true },
  { head: 'Full', text: (c: Cache) => (c.capacity > 0 ? percent(c.bytes / c.capacity) : '-'), bar: (c: Cache) => (c.capacity > 0 ? c.bytes / c.capacity : 0), number: true },
  { head: 'Records', text: (c: Cache) => count(c.records), sort: (c: Cache) => c.records, number: true },
  { head: 'Hits', text: (c: Cache) => count(c.hits), sort: (c: Cache) => c.hits, number: true },
  { head: 'Of reads', text: (c: Cache) => (c.hits + c.misses > 0 ? percent(c.hit_share) : '-'), sort: (c: Cache) => c.hit_share, number: true },
  { head: 'Source blocks', text: (c: Cache) => bytes(c.source_bytes), sort: (c: Cache) => c.source_bytes, number: true },
  { head: 'Used by', text: (c: Cache) => c.users.join(', ') || 'nobody', wide: true },
  { head: 'Where', text: (c: Cache) => c.url, wide: true },
];
interface Warmed { cache: string; source: Source }
const sources = [
  { head: 'Data set', text: (w: Warmed) => w.source.source, wide: true },
  { head: 'Cache', text: (w: Warmed) => w.cache },
  { head: 'Files', text: (w: Warmed) => count(w.source.files), number: true },
  { head: 'Bytes', text: (w: Warmed) => bytes(w.source.bytes), number: true },
  { head: 'In the cache', text: (w: Warmed) => percent(w.source.percent / 100), bar: (w: Warmed) => w.source.percent / 100, number: true },
];
const rows = [
  { head: 'Pipeline', text: (r: CatalogueRow) => r.pipeline || '(found in the store)', sort: (r: CatalogueRow) => r.pipeline },
  { head: 'Node', text: (r: CatalogueRow) => `${r.node}${r.op && r.op !== r.node ? ` (${r.op})` : ''}` },
  { head: 'Bytes', text: (r: CatalogueRow) => bytes(r.bytes), sort: (r: CatalogueRow) => r.bytes, number: true },
  { head: 'Records', text: (r: CatalogueRow) => (r.ids > 0 ? `${count(r.records)} of ${count(r.ids)}` : count(r.records)), sort: (r: CatalogueRow) => r.records, number: true },
  { head: 'Hits', text: (r: CatalogueRow) => count(r.hits), sort: (r: CatalogueRow) => r.hits, number: true },
  { head: 'CPU saved', text: (r: CatalogueRow) => duration(r.saved_ns / 1e9), sort: (r: CatalogueRow) => r.saved_ns, number: true },
  { head: 'Readers', text: (r: CatalogueRow) => String(r.readers), sort: (r: CatalogueRow) => r.readers, number: true },
  { head: 'Tenant', text: (r: CatalogueRow) => r.tenant, sort: (r: CatalogueRow) => r.tenant },
  { head: 'Key', text: (r: CatalogueRow) => r.key.slice(0, 12) },
];

export class CachesView implements View {
  readonly title = 'Caches';
  readonly element: HTMLElement;
  private chosen = '';
  private table = new Table<Cache>('Caches', columns, (c) => String(c.id), 'The dispatcher has no cache (--cache-store).', PAGE / 3, (c) => { this.chosen = c.name; void this.look(); });
  private warmed = new Table<Warmed>('Data sets that were warmed', sources, (w) => `${w.cache} ${w.source.source}`, 'None: cachew cache warm brings one into a cache.', PAGE / 3);
  private rows = new Table<CatalogueRow>('What is in it', rows, (r) => `${r.tenant} ${r.key}`, 'Nothing yet.', PAGE / 3);
  private says = h('p', { class: 'muted' });
  private timer = 0;
  private closed = false;

  constructor() {
    this.element = h('div', {}, this.table.element, this.says, this.rows.element, this.warmed.element);
    void this.look();
  }

  private async look(): Promise<void> {
    window.clearTimeout(this.timer);
    try {
      const c = await get<Catalogue>(`/api/catalogue?cache=${encodeURIComponent(this.chosen)}`);
      if (this.closed) return;
      this.rows.update(c.rows);
      setText(this.says, `Cache ${this.chosen || 'default'}, ${c.url}: ${count(c.evicted)} chunks evicted (${c.evict}), ${count(c.damaged)} damaged, ${count(c.lost)} records lost; `
        + `${bytes(c.store_free)} of ${bytes(c.store_total)} free in its store.`);
    } catch (e) {
      if (!this.closed) setText(this.says, (e as Error).message);
    }
    if (!this.closed) this.timer = window.setTimeout(() => void this.look(), LOOK_MS);
  }

  update(store: Store): void {
    const all = [...store.caches.values()];
    this.table.update(all);
    this.warmed.update(all.flatMap((c) => c.sources.map((source) => ({ cache: c.name, source }))));
  }

  close(): void {
    this.closed = true;
    window.clearTimeout(this.timer);
  }
}
