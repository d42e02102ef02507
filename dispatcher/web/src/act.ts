// SPDX-License-Identifier: Apache-2.0
// Who looks, and what that one may do. The dispatcher decides; here it is only offered or not.
import { h, setHidden, setText } from './dom';
import { get } from './store';
import type { Who } from './types';

let asked: Promise<Who> | null = null;

// Asked once for each time that somebody signs in.
export function who(): Promise<Who> {
  asked ??= get<Who>('/api/who').catch((e) => { asked = null; throw e; });
  return asked;
}
export function forget(): void {
  asked = null;
}

export function whoText(w: Who): string {
  return w.kind === 'tenant' ? `Tenant ${w.name}: its own jobs` : w.name ? `Operator ${w.name}: all jobs` : '';
}

async function act(query: string): Promise<void> {
  const answer = await fetch(`/api/act?${query}`, { method: 'POST' });
  if (!answer.ok) throw new Error(((await answer.json()) as { error: string }).error);
}

// A button that asks once more before it does what cannot be undone. It is there for those who may.
export function actButton(word: string, question: string, query: () => string): HTMLElement {
  const says = h('p', { role: 'status' });
  const yes = h('button', { type: 'button', click: () => void run() }, word);
  const dialog = h('dialog', { 'aria-label': word }, h('p', {}, question), says,
    h('div', { class: 'tools' }, yes, h('button', { type: 'button', click: () => dialog.close() }, 'Cancel')));
  const run = async (): Promise<void> => {
    yes.disabled = true;
    try {
      await act(query());
      dialog.close();
    } catch (e) {
      setText(says, (e as Error).message);
    }
    yes.disabled = false;
  };
  const whole = h('span', { hidden: true }, h('button', { type: 'button', click: () => { setText(says, ''); dialog.showModal(); } }, word), dialog);
  who().then((w) => setHidden(whole, !w.may_act)).catch(() => { /* nobody may */ });
  return whole;
}
