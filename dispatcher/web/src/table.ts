// SPDX-License-Identifier: Apache-2.0
// Tables with a filter, sorting and pages: however many rows there are, the document has at most PAGE, all tables of a
// view together.
import { h, setAttribute, setDisabled, setHidden, setText, setWidth } from './dom';

export const PAGE = 60;

export interface Column<Row> {
  head: string;
  text: (row: Row) => string;
  sort?: (row: Row) => number | string;
  link?: (row: Row) => string | null;
  bar?: (row: Row) => number; // a share, drawn behind the text
  mark?: (row: Row) => string; // a class that says how it is: good, warn, bad
  number?: boolean;
  wide?: boolean; // text that may wrap
}

interface Slot { tr: HTMLTableRowElement; cells: { td: HTMLElement; text: HTMLElement; bar: HTMLElement | null }[] }

export class Table<Row> {
  readonly element: HTMLElement;
  private rows: Row[] = [];
  private slots = new Map<string, Slot>();
  private body = h('tbody');
  private page = 0;
  private words = '';
  private sorted: { column: number; down: boolean } | null = null;
  private heads: HTMLElement[] = [];
  private shown = h('span', { class: 'muted', role: 'status' });
  private back: HTMLButtonElement;
  private on: HTMLButtonElement;
  private nothing: HTMLElement;

  constructor(caption: string, private columns: Column<Row>[], private key: (row: Row) => string,
    nothing: string, private most = PAGE, private onRow?: (row: Row) => void) {
    const head = h('tr');
    columns.forEach((column, i) => {
      const th = h('th', { scope: 'col', class: column.number ? 'number' : '' });
      if (column.sort) th.append(h('button', { type: 'button', class: 'sort', click: () => this.sortBy(i) }, column.head));
      else th.append(column.head);
      this.heads.push(th);
      head.append(th);
    });
    const filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': `Filter: ${caption}`,
      input: (e) => { this.words = (e.target as HTMLInputElement).value.toLowerCase(); this.page = 0; this.render(); } });
    this.back = h('button', { type: 'button', click: () => { this.page--; this.render(); } }, 'Previous');
    this.on = h('button', { type: 'button', click: () => { this.page++; this.render(); } }, 'Next');
    this.nothing = h('p', { class: 'muted' }, nothing);
    this.element = h('section', { class: 'panel' },
      h('div', { class: 'tools' }, h('h2', {}, caption), filter, this.shown, this.back, this.on),
      h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
        h('table', {}, h('caption', { class: 'hidden' }, caption), h('thead', {}, head), this.body)),
      this.nothing);
  }

  private sortBy(i: number): void {
    const now = this.sorted;
    this.sorted = now?.column === i ? (now.down ? { column: i, down: false } : null)
      : { column: i, down: !!this.columns[i]?.number };
    this.heads.forEach((th, at) => setAttribute(th, 'aria-sort',
      this.sorted?.column === at ? (this.sorted.down ? 'descending' : 'ascending') : null));
    this.render();
  }

  update(rows: Iterable<Row>): void {
    this.rows = [...rows];
    this.render();
  }

  private chosen(): Row[] {
    let rows = this.rows;
    if (this.words) {
      rows = rows.filter((row) => this.columns.some((c) => c.text(row).toLowerCase().includes(this.words)));
    }
    const sort = this.sorted && this.columns[this.sorted.column]?.sort;
    if (sort) {
      const sign = this.sorted?.down ? -1 : 1;
      const keyed = rows.map((row) => ({ row, by: sort(row) }));
      keyed.sort((a, b) => (a.by < b.by ? -sign : a.by > b.by ? sign : 0));
      rows = keyed.map((k) => k.row);
    }
    return rows;
  }

  private make(row: Row): Slot {
    const tr = h('tr');
    const cells = this.columns.map((column) => {
      const text = column.link && column.link(row) !== null ? h('a', { href: column.link(row) ?? '' }) : h('span');
      const bar = column.bar ? h('span', { class: 'bar', 'aria-hidden': 'true' }) : null;
      const td = h('td', { class: `${column.number ? 'number' : ''} ${column.wide ? 'wide' : ''}` }, bar, text);
      tr.append(td);
      return { td, text, bar };
    });
    const act = this.onRow;
    if (act) {
      const first = cells[0];
      if (first) {
        const button = h('button', { type: 'button', class: 'plain', click: () => act(row) });
        first.text.replaceWith(button);
        first.text = button;
      }
    }
    return { tr, cells };
  }

  private paint(slot: Slot, row: Row): void {
    this.columns.forEach((column, i) => {
      const cell = slot.cells[i];
      if (!cell) return;
      setText(cell.text, column.text(row));
      if (cell.bar && column.bar) setWidth(cell.bar, column.bar(row));
      if (column.mark) setAttribute(cell.text, 'class', column.mark(row));
    });
  }

  private render(): void {
    const rows = this.chosen();
    const last = Math.max(0, Math.ceil(rows.length / this.most) - 1);
    this.page = Math.min(Math.max(this.page, 0), last);
    const part = rows.slice(this.page * this.most, (this.page + 1) * this.most);
    const keep = new Set<string>();
    part.forEach((row, i) => {
      const key = this.key(row);
      keep.add(key);
      let slot = this.slots.get(key);
      if (!slot) this.slots.set(key, (slot = this.make(row)));
      this.paint(slot, row);
      if (this.body.children[i] !== slot.tr) this.body.insertBefore(slot.tr, this.body.children[i] ?? null);
    });
    for (const [key, slot] of this.slots) {
      if (keep.has(key)) continue;
      slot.tr.remove();
      this.slots.delete(key);
    }
    const from = this.page * this.most + 1;
    setText(this.shown, rows.length > this.most ? `${from} to ${from + part.length - 1} of ${rows.length}` : `${rows.length}`);
    setHidden(this.back, last === 0);
    setHidden(this.on, last === 0);
    setDisabled(this.back, this.page === 0);
    setDisabled(this.on, this.page === last);
    setHidden(this.nothing, rows.length > 0);
  }
}
