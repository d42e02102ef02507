// SPDX-License-Identifier: Apache-2.0
// Asks for a token, which the dispatcher exchanges for a cookie. It is not kept here.
import { h, setText } from './dom';

export function login(done: () => void): HTMLElement {
  const input = h('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false', required: true });
  const trouble = h('p', { class: 'alert', role: 'alert', hidden: true });
  const send = async (): Promise<void> => {
    let why = 'the dispatcher cannot be reached';
    try {
      const answer = await fetch('/api/login', { method: 'POST', body: input.value.trim(), headers: { 'Content-Type': 'text/plain' } });
      if (answer.ok) {
        input.value = '';
        done();
        return;
      }
      why = ((await answer.json()) as { error: string }).error;
    } catch { /* it is away */ }
    trouble.hidden = false;
    setText(trouble, why);
    input.select();
  };
  queueMicrotask(() => input.focus());
  return h('form', { class: 'panel login', submit: (e) => { e.preventDefault(); void send(); } },
    h('h2', {}, 'A token is needed'),
    h('p', { class: 'muted' }, "A tenant's shows its own jobs, an operator's all of them, and only with that anything can be changed here."),
    h('label', { for: 'token' }, 'Token'), input, h('button', { type: 'submit' }, 'Show'), trouble);
}
