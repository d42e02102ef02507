// SPDX-License-Identifier: Apache-2.0
// A share over time: one line on a scale from 0 to 100 %, with what it says in words for those who
// do not see it.
import { h, setAttribute, setText, svg } from './dom';
import { percent } from './format';

const HEIGHT = 130, LEFT = 44, BOTTOM = 18, TOP = 8;

export class ShareChart {
  readonly element: HTMLElement;
  private line = svg('path', { class: 'line' });
  private area = svg('path', { class: 'area' });
  private cursor = svg('line', { class: 'cursor', y1: String(TOP), y2: String(HEIGHT - BOTTOM) });
  private begin = svg('text', { x: String(LEFT), y: String(HEIGHT - 4) });
  private says = h('p', { class: 'muted', 'aria-live': 'off' });
  private picture: SVGSVGElement;
  private points: { at: number; share: number }[] = [];
  private width = 600; // of the picture on the screen, so that letters are as large as others
  private grid: SVGLineElement[] = [];
  private now = svg('text', { class: 'end', y: String(HEIGHT - 4) }, 'now');

  constructor(private title: string) {
    const lines = [0, 0.5, 1].map((share) => {
      const y = String(this.y(share));
      const line = svg('line', { class: 'grid', x1: String(LEFT), y1: y, y2: y });
      this.grid.push(line);
      return [line, svg('text', { class: 'end', x: String(LEFT - 6), y: String(this.y(share) + 4) }, percent(share))];
    }).flat();
    this.picture = svg('svg', { role: 'img',
      mousemove: (e) => this.point(e as MouseEvent), mouseleave: () => this.tell() },
    ...lines, this.area, this.line, this.cursor, this.begin, this.now);
    this.resize();
    new ResizeObserver(() => {
      const width = this.picture.clientWidth;
      if (width === 0 || width === this.width) return;
      this.width = width;
      this.resize();
      this.update(this.points);
    }).observe(this.picture);
    this.element = h('figure', { class: 'chart' }, h('figcaption', {}, title), this.picture, this.says);
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
  }

  private point(e: MouseEvent): void {
    const box = this.picture.getBoundingClientRect();
    const x = ((e.clientX - box.left) / box.width) * this.width - LEFT;
    const i = Math.round((x / (this.width - LEFT)) * (this.points.length - 1));
    this.tell(Math.min(Math.max(i, 0), this.points.length - 1));
  }

  // at: in seconds
  update(points: { at: number; share: number }[]): void {
    this.points = points;
    const path = points.map((p, i) => `${i ? 'L' : 'M'}${this.x(i).toFixed(1)} ${this.y(Math.min(p.share, 1)).toFixed(1)}`).join('');
    setAttribute(this.line, 'd', path);
    setAttribute(this.area, 'd', points.length > 1 ? `${path}L${this.width} ${this.y(0)}L${LEFT} ${this.y(0)}Z` : '');
    const first = points[0], last = points[points.length - 1];
    const most = points.reduce((a, p) => Math.max(a, p.share), 0);
    setText(this.begin, first && last ? `${Math.round(last.at - first.at)} s ago` : '');
    setAttribute(this.picture, 'aria-label', last ? `${this.title}: now ${percent(last.share)}, at most ${percent(most)}` : this.title);
    this.tell();
  }
}
