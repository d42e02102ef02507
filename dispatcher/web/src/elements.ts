// SPDX-License-Identifier: Apache-2.0
// Elements of a job's batches as they come, where the operator of the service allows it: some of an output
// that a worker has just computed.
import { h, setHidden, setText } from './dom';
import { bytes, count, duration } from './format';
import { kindOf, picture } from './picture';
import { get } from './store';
import type { Shown, ShownField } from './types';

const LOOK_MS = 2000;

function field(f: ShownField): Node {
  const part = f.shown.some((n, i) => n !== f.dims[i]) ? (Math.min(...f.dims) <= 8 && f.dims.length <= 2 || f.dims.length === 1 ? ', its beginning' : ', thinned out') : '';
  return h('div', { class: 'field' }, h('div', {}, h('b', {}, f.name), h('span', { class: 'muted' }, ` ${kindOf(f)}, ${bytes(f.bytes)}${part}`)), picture(f));
}

export class Elements {
  readonly element: HTMLElement;
  private says = h('p', { class: 'muted', role: 'status' });
  private cards = h('ul', { class: 'elements' });
  private button = h('button', { type: 'button', 'aria-pressed': 'false', click: () => this.toggle() }, 'Show');
  private timer = 0;
  private on = false;
  private seen = '';

  constructor(private id: string) {
    this.element = h('section', { class: 'panel', hidden: true, 'aria-label': 'Elements as they come' },
      h('div', { class: 'tools' }, h('h2', {}, 'Elements as they come'), this.button), this.says, this.cards);
  }

  allow(allowed: boolean): void {
    setHidden(this.element, !allowed);
    if (!allowed && this.on) this.toggle();
  }

  private toggle(): void {
    this.on = !this.on;
    this.button.setAttribute('aria-pressed', String(this.on));
    setText(this.button, this.on ? 'Stop' : 'Show');
    window.clearTimeout(this.timer);
    if (this.on) void this.look();
  }

  private async look(): Promise<void> {
    try {
      const shown = await get<Shown>(`/api/elements?job=${encodeURIComponent(this.id)}`);
      if (!this.on) return;
      this.take(shown);
    } catch (e) {
      setText(this.says, (e as Error).message);
    }
    if (this.on) this.timer = window.setTimeout(() => void this.look(), this.seen ? LOOK_MS : LOOK_MS / 4);
  }

  private take(s: Shown): void {
    if (!s.allowed) return this.allow(false);
    if (!s.shown) return setText(this.says, 'Nothing was computed since you look.');
    const key = `${s.epoch}/${s.item}`;
    setText(this.says, `${s.elements.length} of ${count(s.rows)} elements of output ${s.item} in epoch ${s.epoch}, computed ${s.age_ms < 2000 ? 'just now' : `${duration(s.age_ms / 1000)} ago`}.`);
    if (key === this.seen) return;
    this.seen = key;
    this.cards.replaceChildren(...s.elements.map((fields) => h('li', {}, ...fields.map(field))));
  }

  close(): void {
    this.on = false;
    window.clearTimeout(this.timer);
  }
}
