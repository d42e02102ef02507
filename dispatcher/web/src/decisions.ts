// SPDX-License-Identifier: Apache-2.0
// Decisions as a time line, the newest first; a chosen one shows what its policy saw, and the plans
// that it did not take.
import { h, setText } from './dom';
import { moment } from './format';
import { get } from './store';
import type { Store } from './store';
import { PAGE, Table } from './table';
import type { Decision } from './types';
import type { View } from './view';

const columns = [
  { head: 'When', text: (d: Decision) => moment(d.time_ms), sort: (d: Decision) => d.id },
  { head: 'Job', text: (d: Decision) => d.name || d.job || 'the fleet', sort: (d: Decision) => d.name ?? '' },
  { head: 'Decides', text: (d: Decision) => `${d.kind} ${d.policy}`, sort: (d: Decision) => d.kind },
  { head: 'Choice', text: (d: Decision) => d.choice ?? 'nothing', wide: true },
  { head: 'Reason', text: (d: Decision) => d.reason, wide: true },
];

export class DecisionsTable {
  readonly element: HTMLElement;
  private table: Table<Decision>;
  private detail = h('dialog', { 'aria-labelledby': 'decision-head' });

  constructor(caption: string, withJob: boolean) {
    this.table = new Table<Decision>(caption, withJob ? columns : columns.filter((c) => c.head !== 'Job'),
      (d) => String(d.id), 'Nothing was decided yet.', PAGE, (d) => void this.show(d));
    this.element = h('div', {}, this.table.element, this.detail);
  }

  private async show(d: Decision): Promise<void> {
    const body = h('div', {}, h('p', { class: 'muted' }, 'Loading.'));
    this.detail.replaceChildren(
      h('div', { class: 'tools' }, h('h2', { id: 'decision-head' }, `${d.kind} ${d.policy}: ${d.choice ?? 'nothing'}`),
        h('button', { type: 'button', click: () => this.detail.close() }, 'Close')),
      h('p', {}, d.reason), body);
    this.detail.showModal();
    try {
      const whole = await get<Decision | null>(`/api/decision?id=${d.id}`);
      if (!whole || whole.id !== d.id) throw new Error('It is not kept any more.');
      body.replaceChildren(
        h('h3', {}, 'Plans that were weighed'),
        whole.candidates.length ? h('ul', {}, ...whole.candidates.map((c) => h('li', {}, c))) : h('p', { class: 'muted' }, 'No others.'),
        h('h3', {}, 'What the policy saw'),
        h('pre', { tabindex: '0' }, JSON.stringify(whole.inputs, null, 1)));
    } catch (e) {
      setText(body, (e as Error).message);
    }
  }

  update(decisions: Decision[]): void {
    this.table.update([...decisions].reverse());
  }
}

export class DecisionsView implements View {
  readonly title = 'Decisions';
  readonly element: HTMLElement;
  private table = new DecisionsTable('Decisions', true);

  constructor() {
    this.element = this.table.element;
  }

  update(store: Store): void {
    this.table.update(store.decisions);
  }
}
