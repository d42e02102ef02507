// SPDX-License-Identifier: Apache-2.0
// The page: a head with the state of the connection, and one view at a time, chosen by the address.
import './style.css';
import { forget, who, whoText } from './act';
import { CachesView } from './caches';
import { DecisionsView } from './decisions';
import { h, setAttribute, setHidden, setText } from './dom';
import { duration, several } from './format';
import { JobView } from './job';
import { JobsView } from './jobs';
import { login } from './login';
import { Store } from './store';
import type { View } from './view';
import { WorkersView } from './workers';

const store = new Store();
const links: [string, string][] = [['#/', 'Jobs'], ['#/workers', 'Workers'], ['#/caches', 'Caches'], ['#/decisions', 'Decisions']];
const nav = links.map(([href, text]) => h('a', { href }, text));
const state = h('span', { class: 'state', role: 'status' });
const facts = h('span', { class: 'muted' });
const whose = h('span', { class: 'muted' });
const head = h('h1', { tabindex: '-1' });
const main = h('main', { id: 'main' });
const out = h('button', { type: 'button', hidden: true, click: () => void leave() }, 'Sign out');
const themes = ['auto', 'light', 'dark'];
const theme = h('button', { type: 'button', click: () => nextTheme() });
let view: View | null = null;
let due = false;

function setTheme(name: string): void {
  setAttribute(document.documentElement, 'data-theme', name === 'auto' ? null : name);
  setText(theme, `Theme: ${name}`);
}
function nextTheme(): void {
  const now = themes.indexOf(localStorage.getItem('theme') ?? 'auto');
  const name = themes[(now + 1) % themes.length] ?? 'auto';
  localStorage.setItem('theme', name);
  setTheme(name);
}

function open(address: string): View {
  const [, what, id] = address.replace(/^#/, '').split('/');
  if (what === 'job' && id) return new JobView(decodeURIComponent(id));
  if (what === 'workers') return new WorkersView();
  if (what === 'caches') return new CachesView();
  if (what === 'decisions') return new DecisionsView();
  return new JobsView();
}

function show(moved: boolean): void {
  view?.close?.();
  view = open(location.hash);
  main.replaceChildren(head, view.element);
  nav.forEach((link, i) => setAttribute(link, 'aria-current', links[i]?.[0] === (location.hash || '#/') ? 'page' : null));
  if (moved) head.focus();
  draw();
}

function draw(): void {
  due = false;
  const words = { connecting: 'Connecting', live: 'Live', lost: `Lost: ${store.trouble}`, denied: 'A token is needed' };
  setText(state, words[store.state]);
  setAttribute(state, 'class', `state ${store.state}`);
  setText(facts, store.version ? `cachew ${store.version}, up ${duration(store.uptime_ms / 1000)}, ${several(store.jobs.size, 'job')}, ${several(store.workers.size, 'worker')}` : '');
  if (!view) return;
  view.update(store);
  setText(head, view.title);
  if (document.title !== `${view.title} - cachew`) document.title = `${view.title} - cachew`;
}

// Whose view it is.
function tellWho(): void {
  forget();
  setText(whose, '');
  who().then((w) => setText(whose, whoText(w))).catch(() => { /* the question for a token says it */ });
}

// Scripts do not see the cookie, so that there is one is noted.
function note(signedIn: boolean): void {
  if (signedIn) localStorage.setItem('signed-in', 'yes');
  else localStorage.removeItem('signed-in');
  setHidden(out, !signedIn);
}

function ask(): void {
  note(false);
  view?.close?.();
  view = null;
  main.replaceChildren(login(() => { note(true); tellWho(); store.open(); show(false); }));
  draw();
}

async function leave(): Promise<void> {
  await fetch('/api/logout', { method: 'POST' });
  store.close();
  location.reload();
}

store.onChange = () => {
  if (store.state === 'denied') ask();
  else if (!due) {
    due = true;
    requestAnimationFrame(draw);
  }
};
setTheme(localStorage.getItem('theme') ?? 'auto');
document.body.append(
  h('a', { href: '#main', class: 'skip', click: (e) => { e.preventDefault(); head.focus(); } }, 'To the content'),
  h('header', {}, h('span', { class: 'brand' }, 'cachew'), h('nav', { 'aria-label': 'Views' }, ...nav), facts, whose, state, theme, out), main);
window.addEventListener('hashchange', () => show(true));
// Nobody looks at a page in the background.
document.addEventListener('visibilitychange', () => {
  if (store.state === 'denied') return;
  if (document.hidden) store.close();
  else store.open();
});
note(localStorage.getItem('signed-in') !== null);
tellWho();
show(false);
store.open();
