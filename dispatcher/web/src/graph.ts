// SPDX-License-Identifier: Apache-2.0
// A pipeline as a picture: a node stands below what it reads. Each says what it cost, and the one
// that takes most of the time is marked.
import { h, setAttribute, setHidden, setText, setWidth, svg } from './dom';
import { bytes, count, duration, percent } from './format';
import type { Explained, Graph, GraphNode, Operator } from './types';

const WIDTH = 270, HEIGHT = 92, GAP_X = 24, GAP_Y = 26;

interface Place { name: string; node: GraphNode; inputs: string[]; row: number; lane: number }

// The text form: a node without inputs reads the one before it, unless it is the first.
export function places(graph: Graph): Place[] {
  const result: Place[] = [];
  const by = new Map<string, Place>();
  const names = new Map<string, number>();
  const lanes = new Map<number, number>();
  for (const node of graph.pipeline) {
    const seen = (names.get(node.op) ?? 0) + 1;
    names.set(node.op, seen);
    const name = node.name ?? (seen > 1 ? `${node.op}_${seen}` : node.op);
    const before = result[result.length - 1];
    const inputs = node.inputs ?? (before ? [before.name] : []);
    const row = Math.max(-1, ...inputs.map((i) => by.get(i)?.row ?? -1)) + 1;
    const lane = Math.max(lanes.get(row) ?? 0, inputs.length === 1 ? (by.get(inputs[0] ?? '')?.lane ?? 0) : 0);
    lanes.set(row, lane + 1);
    const place = { name, node, inputs, row, lane };
    by.set(name, place);
    result.push(place);
  }
  return result;
}

function options(node: GraphNode): string {
  return Object.entries(node).filter(([k]) => !['op', 'name', 'inputs'].includes(k))
    .map(([k, v]) => `${k}=${typeof v === 'string' ? v : JSON.stringify(v)}`).join(' ');
}

interface Box { cost: HTMLElement; size: HTMLElement; tags: HTMLElement; cpu: HTMLElement; wait: HTMLElement; item: HTMLElement }

export class GraphView {
  readonly element: HTMLElement;
  private boxes = new Map<string, Box>();

  constructor(graph: Graph) {
    const all = places(graph);
    const by = new Map(all.map((p) => [p.name, p]));
    const rows = Math.max(0, ...all.map((p) => p.row)) + 1, lanes = Math.max(0, ...all.map((p) => p.lane)) + 1;
    const width = lanes * (WIDTH + GAP_X) - GAP_X, height = rows * (HEIGHT + GAP_Y) - GAP_Y;
    const lines = svg('svg', { class: 'edges', width: String(width), height: String(height), 'aria-hidden': 'true' });
    const list = h('ol', { class: 'graph' });
    for (const p of all) {
      const x = p.lane * (WIDTH + GAP_X), y = p.row * (HEIGHT + GAP_Y);
      for (const input of p.inputs) {
        const from = by.get(input);
        if (!from) continue;
        const fx = from.lane * (WIDTH + GAP_X) + WIDTH / 2, fy = from.row * (HEIGHT + GAP_Y) + HEIGHT, tx = x + WIDTH / 2;
        lines.append(svg('path', { d: `M${fx} ${fy}C${fx} ${fy + GAP_Y} ${tx} ${y - GAP_Y} ${tx} ${y}` }));
      }
      list.append(this.box(p, x, y));
    }
    list.style.width = `${width}px`;
    list.style.height = `${height}px`;
    this.element = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Pipeline' }, h('div', { class: 'canvas' }, lines, list));
  }

  private box(p: Place, x: number, y: number): HTMLElement {
    const cpu = h('span', { class: 'cpu' }), wait = h('span', { class: 'wait' });
    const cost = h('p'), size = h('p', { class: 'muted' }), tags = h('strong', { class: 'tag' });
    const said = options(p.node);
    const item = h('li', { title: said },
      h('p', { class: 'name' }, h('b', {}, p.name), p.name === p.node.op ? null : ` ${p.node.op}`, ' ', tags),
      h('span', { class: 'hidden' }, `${p.inputs.length ? `reads ${p.inputs.join(', ')}` : 'a source'}${said ? `; ${said}` : ''}`),
      cost, size, h('div', { class: 'split', 'aria-hidden': 'true' }, cpu, wait));
    item.style.left = `${x}px`;
    item.style.top = `${y}px`;
    this.boxes.set(p.name, { cost, size, tags, cpu, wait, item });
    return item;
  }

  update(e: Explained): void {
    const wall = (o: Operator) => Math.max(o.wall_ns, o.cpu_ns);
    const sum = e.operators.reduce((a, o) => a + wall(o), 0);
    const most = e.operators.reduce<Operator | null>((a, o) => (!a || wall(o) > wall(a) ? o : a), null);
    for (const o of e.operators) {
      const box = this.boxes.get(o.node);
      if (!box) continue;
      const n = Math.max(o.elements, 1), is = o === most && sum > 0 && wall(o) > 0.3 * sum;
      setText(box.cost, `${duration(wall(o) / n / 1e9)} each, CPU ${duration(o.cpu_ns / n / 1e9)}; ${sum > 0 ? percent(wall(o) / sum) : '-'} of all`);
      setText(box.size, `${count(o.elements)} rows of ${bytes(o.bytes / n)}${o.hits > 0 ? `; ${count(o.hits)} from the cache` : ''}`);
      const cached = e.standing.cached_node === o.node;
      setText(box.tags, [is ? (o.cpu_ns > 0.5 * wall(o) ? 'bound: CPU' : 'bound: waits') : '', cached ? 'cached' : ''].filter(Boolean).join(', '));
      setHidden(box.tags, !is && !cached);
      setAttribute(box.item, 'class', is ? 'most' : '');
      setWidth(box.cpu, sum > 0 ? o.cpu_ns / sum : 0);
      setWidth(box.wait, sum > 0 ? (wall(o) - o.cpu_ns) / sum : 0);
    }
  }
}
