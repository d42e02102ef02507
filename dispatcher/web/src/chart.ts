// SPDX-License-Identifier: Apache-2.0
// A share over time: one line on a scale from 0 to 100 %, with what it says in words for those who
// do not see it. Beside it there may be lines of parts, as of the consumers of a job.
import { h, setAttribute, setHidden, setText, svg } from './dom';
import { percent } from './format';

const HEIGHT = 130, LEFT = 44, BOTTOM = 18, TOP = 8;
const PARTS = 8; // lines of parts that are drawn: more cannot be told apart

// at: in seconds; parts: the share of each, null = not measured
export interface ChartPoint { at: number; share: number; parts?: (number | null)[] }

// The parts with the largest shares of all points together, in their order.
function largest(points: ChartPoint[]): number[] {
  const sums: number[] = [];
  for (const p of points) p.parts?.forEach((share, i) => { sums[i] = (sums[i] ?? 0) + (share ?? 0); });
  const order = sums.map((_, i) => i).sort((a, b) => (sums[b] ?? 0) - (sums[a] ?? 0) || a - b);
  return order.slice(0, PARTS).sort((a, b) => a - b);
}

export class ShareChart {
  readonly element: HTMLElement;
  private line = svg('path', { class: 'line' });
  private area = svg('path', { class: 'area' });
  private cursor = svg('line', { class: 'cursor', y1: String(TOP), y2: String(HEIGHT - BOTTOM) });
  private begin = svg('text', { x: String(LEFT), y: String(HEIGHT - 4) });
  private says = h('p', { class: 'muted', 'aria-live': 'off' });
  private picture: SVGSVGElement;
  private points: ChartPoint[] = [];
  private parts = Array.from({ length: PARTS }, (_, k) => {
    const line = svg('path', { class: `part part${k}` }), text = h('span');
    const key = svg('svg', { class: 'key', 'aria-hidden': 'true' }, svg('path', { class: `part part${k}`, d: 'M0 5H22' }));
    return { line, text, item: h('li', { hidden: true }, key, text) };
  });
  private more = h('li', { hidden: true });
  private legend = h('ul', { class: 'legend', hidden: true }, ...this.parts.map((part) => part.item), this.more);
  private drawn: number[] = []; // the parts that have lines
  private width = 600; // of the picture on the screen, so that letters are as large as others
  private grid: SVGLineElement[] = [];
  private now = svg('text', { class: 'end', y: String(HEIGHT - 4) }, 'now');

  constructor(private title: string, private part = '') {
    const lines = [0, 0.5, 1].map((share) => {
      const y = String(this.y(share));
      const line = svg('line', { class: 'grid', x1: String(LEFT), y1: y, y2: y });
      this.grid.push(line);
      return [line, svg('text', { class: 'end', x: String(LEFT - 6), y: String(this.y(share) + 4) }, percent(share))];
    }).flat();
    this.picture = svg('svg', { role: 'img',
      mousemove: (e) => this.point(e as MouseEvent), mouseleave: () => this.tell() },
    ...lines, this.area, ...this.parts.map((part) => part.line), this.line, this.cursor, this.begin, this.now);
    this.resize();
    new ResizeObserver(() => {
      const width = this.picture.clientWidth;
      if (width === 0 || width === this.width) return;
      this.width = width;
      this.resize();
      this.update(this.points);
    }).observe(this.picture);
    this.element = h('figure', { class: 'chart' }, h('figcaption', {}, title), this.picture, this.says, this.legend);
  }

  private resize(): void {
    setAttribute(this.picture, 'viewBox', `0 0 ${this.width} ${HEIGHT}`);
    setAttribute(this.now, 'x', String(this.width));
    for (const line of this.grid) setAttribute(line, 'x2', String(this.width));
  }

  private y(share: number): number {
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  }

  private x(i: number): number {
    return LEFT + (i / Math.max(this.points.length - 1, 1)) * (this.width - LEFT);
  }

  private tell(i = this.points.length - 1): void {
    const p = this.points[i], last = this.points[this.points.length - 1];
    setAttribute(this.cursor, 'visibility', p && p !== last ? 'visible' : 'hidden');
    if (!p || !last) {
      setText(this.says, 'Nothing is measured yet.');
      return;
    }
    const x = String(this.x(i));
    setAttribute(this.cursor, 'x1', x);
    setAttribute(this.cursor, 'x2', x);
    const ago = Math.round(last.at - p.at);
    setText(this.says, `${ago === 0 ? 'Now' : `${ago} s ago`}: ${percent(p.share)}`);
    this.drawn.forEach((i, k) => {
      const share = p.parts?.[i] ?? null, part = this.parts[k];
      if (part) setText(part.text, `${this.part} ${i}: ${share === null ? '-' : percent(share)}`);
    });
  }

  private drawParts(): void {
    this.drawn = largest(this.points);
    this.parts.forEach((part, k) => {
      const i = this.drawn[k];
      setHidden(part.item, i === undefined);
      setAttribute(part.line, 'd', i === undefined ? '' : this.path((p) => p.parts?.[i] ?? null));
    });
    const rest = Math.max(0, ...this.points.map((p) => p.parts?.length ?? 0)) - this.drawn.length;
    setHidden(this.more, rest === 0);
    setText(this.more, `and ${rest} more, with less`);
    setHidden(this.legend, this.drawn.length === 0);
  }

  // A line through what was measured, with gaps where nothing was.
  private path(of: (p: ChartPoint) => number | null): string {
    let down = false;
    return this.points.map((p, i) => {
      const share = of(p), command = down ? 'L' : 'M';
      down = share !== null;
      return share === null ? '' : `${command}${this.x(i).toFixed(1)} ${this.y(Math.min(share, 1)).toFixed(1)}`;
    }).join('');
  }

  private point(e: MouseEvent): void {
    const box = this.picture.getBoundingClientRect();
    const x = ((e.clientX - box.left) / box.width) * this.width - LEFT;
    const i = Math.round((x / (this.width - LEFT)) * (this.points.length - 1));
    this.tell(Math.min(Math.max(i, 0), this.points.length - 1));
  }

  update(points: ChartPoint[]): void {
    this.points = points;
    const path = this.path((p) => p.share);
    setAttribute(this.line, 'd', path);
    setAttribute(this.area, 'd', points.length > 1 ? `${path}L${this.width} ${this.y(0)}L${LEFT} ${this.y(0)}Z` : '');
    const first = points[0], last = points[points.length - 1];
    const most = points.reduce((a, p) => Math.max(a, p.share), 0);
    setText(this.begin, first && last ? `${Math.round(last.at - first.at)} s ago` : '');
    setAttribute(this.picture, 'aria-label', last ? `${this.title}: now ${percent(last.share)}, at most ${percent(most)}` : this.title);
    this.drawParts();
    this.tell();
  }
}
