// SPDX-License-Identifier: Apache-2.0
// Values as pictures: images as images, strings as text, signals and spectra as plots. They are drawn on
// canvases, so that nothing of the data ever becomes markup or an address.
import { h, svg } from './dom';
import { bytes } from './format';
import type { ShownField } from './types';

const TEXT_MAX = 600, VALUES_MAX = 48, POINTS = 300;
// Colours of a spectrum, from little to much (those of Matplotlib's viridis, at even steps).
const COLOURS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const MAGIC: [string, string][] = [['\xff\xd8\xff', 'image/jpeg'], ['\x89PNG\r\n\x1a\n', 'image/png'], ['GIF8', 'image/gif'], ['RIFF', 'image/webp']];

function decode(base64: string): Uint8Array {
  const text = atob(base64), data = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) data[i] = text.charCodeAt(i);
  return data;
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

const READ: Record<string, [number, (v: DataView, at: number) => number]> = {
  u8: [1, (v, at) => v.getUint8(at)], i8: [1, (v, at) => v.getInt8(at)], bool: [1, (v, at) => v.getUint8(at)],
  u16: [2, (v, at) => v.getUint16(at, true)], i16: [2, (v, at) => v.getInt16(at, true)], f16: [2, (v, at) => half(v.getUint16(at, true))],
  bf16: [2, (v, at) => { const w = new DataView(new ArrayBuffer(4)); w.setUint32(0, v.getUint16(at, true) << 16); return w.getFloat32(0); }],
  u32: [4, (v, at) => v.getUint32(at, true)], i32: [4, (v, at) => v.getInt32(at, true)], f32: [4, (v, at) => v.getFloat32(at, true)],
  u64: [8, (v, at) => Number(v.getBigUint64(at, true))], i64: [8, (v, at) => Number(v.getBigInt64(at, true))], f64: [8, (v, at) => v.getFloat64(at, true)],
};

function numbers(f: ShownField): Float64Array {
  const how = READ[f.dtype], data = decode(f.data);
  if (!how) return new Float64Array();
  const [size, read] = how, view = new DataView(data.buffer), all = new Float64Array(data.length / size);
  for (let i = 0; i < all.length; i++) all[i] = read(view, i * size);
  return all;
}

const isFloat = (f: ShownField): boolean => /f\d+$/.test(f.dtype);
export const kindOf = (f: ShownField): string => (f.dims.length ? `${f.dtype}[${f.dims.join(', ')}]` : f.dtype);

function range(all: Float64Array): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const v of all) {
    if (v < low && v > -Infinity) low = v;
    if (v > high && v < Infinity) high = v;
  }
  return low <= high ? [low, high] : [0, 0];
}

function canvas(width: number, height: number, scale: number, label: string): HTMLCanvasElement {
  const c = h('canvas', { role: 'img', 'aria-label': label, title: label });
  [c.width, c.height] = [width, height];
  c.style.width = `${width * scale}px`;
  return c;
}

function paint(width: number, height: number, least: number, label: string, pixel: (x: number, y: number, to: Uint8ClampedArray, at: number) => void): Node {
  const c = canvas(width, height, Math.max(1, Math.floor(least / Math.max(width, height))), label), image = new ImageData(width, height);
  for (let y = 0, at = 0; y < height; y++) for (let x = 0; x < width; x++, at += 4) {
    image.data[at + 3] = 255;
    pixel(x, y, image.data, at);
  }
  c.getContext('2d')?.putImageData(image, 0, 0);
  return c;
}

// Where the channels of an image are: the dims [height, width, channels], and the steps between values. Null: it is none.
function layout(f: ShownField): { dims: [number, number, number]; steps: [number, number, number] } | null {
  const [a = 0, b = 0, c = 0] = f.shown, few = [1, 3, 4];
  if (f.shown.length === 2 && (f.dtype === 'u8' || f.dtype === 'bool')) return { dims: [a, b, 1], steps: [b, 1, 0] };
  if (f.shown.length !== 3) return null;
  if (few.includes(c)) return { dims: [a, b, c], steps: [b * c, c, 1] };
  return few.includes(a) ? { dims: [b, c, a], steps: [c, 1, b * c] } : null;
}

// Bytes as they are, [0, 1] times 255, others from the least to the greatest.
function image(f: ShownField, l: NonNullable<ReturnType<typeof layout>>): Node {
  const all = numbers(f), isByte = f.dtype === 'u8';
  let [low, high] = isByte ? [0, 255] : range(all);
  if (f.dtype === 'bool' || (isFloat(f) && low >= 0 && high <= 1)) [low, high] = [0, 1];
  const factor = 255 / (high - low || 1), [height, width, channels] = l.dims, [sy, sx, sc] = l.steps;
  const says = isByte ? '' : `, black ${low.toPrecision(4)}, white ${high.toPrecision(4)}`;
  return paint(width, height, 96, `${f.name}: ${kindOf(f)}${says}`, (x, y, to, at) => {
    for (let i = 0; i < (channels === 4 ? 4 : 3); i++) to[at + i] = ((all[y * sy + x * sx + (channels === 1 ? 0 : i) * sc] ?? 0) - low) * factor;
  });
}

function colour(share: number, channel: number): number {
  const at = Math.min(Math.max(share, 0), 1) * (COLOURS.length - 1), i = Math.min(Math.floor(at), COLOURS.length - 2);
  const a = COLOURS[i]?.[channel] ?? 0, b = COLOURS[i + 1]?.[channel] ?? 0;
  return a + (b - a) * (at - i);
}

// As operators make it: the first dim, frequency, upwards, and the second, time, to the right.
function spectrum(f: ShownField): Node {
  const all = numbers(f), [low, high] = range(all), [height = 0, width = 0] = f.shown, span = high - low || 1;
  return paint(width, height, 160, `${f.name}: ${kindOf(f)}, dark ${low.toPrecision(4)}, light ${high.toPrecision(4)}`, (x, y, to, at) => {
    const v = all[(height - 1 - y) * width + x] ?? low;
    for (let i = 0; i < 3; i++) to[at + i] = colour((v - low) / span, i);
  });
}

// A signal: between the least and the greatest value of each column.
function curve(f: ShownField, all: Float64Array): Node {
  const [low, high] = range(all), span = high - low || 1, columns = Math.min(all.length, POINTS);
  const y = (v: number): string => (78 - ((Number.isFinite(v) ? v : 0) - low) / span * 76).toFixed(1);
  let d = '';
  for (let x = 0; x < columns; x++) {
    const part = all.subarray(Math.floor(x * all.length / columns), Math.floor((x + 1) * all.length / columns)), [least, most] = range(part);
    d += part.length === 1 ? `${x ? 'L' : 'M'}${x} ${y(part[0] ?? 0)}` : `M${x} ${y(least)}V${y(most)}`;
  }
  const label = `${f.name}: ${kindOf(f)}, from ${low.toPrecision(4)} to ${high.toPrecision(4)}`;
  return h('div', {}, svg('svg', { role: 'img', 'aria-label': label, class: 'signal', viewBox: `0 0 ${Math.max(columns, 2)} 80`, preserveAspectRatio: 'none' },
    svg('path', { d })), `${low.toPrecision(4)} to ${high.toPrecision(4)}`);
}

// The channels of a signal, which has them as its first or its last dim.
function channels(f: ShownField, all: Float64Array): Float64Array[] {
  const [a = 0, b = 0] = f.shown, first = a <= b, n = Math.min(a, b), length = Math.max(a, b);
  return Array.from({ length: n }, (_, c) => (first ? all.subarray(c * length, (c + 1) * length) : all.filter((_, i) => i % n === c)));
}

function values(f: ShownField, all: Float64Array): Node {
  const some = [...all.subarray(0, VALUES_MAX)].map((v) => (isFloat(f) ? String(Number(v.toPrecision(6))) : String(v))).join(', ');
  const [low, high] = range(all);
  return h('div', { class: 'values' }, f.dims.length === 0 ? some : `[${some}${all.length > VALUES_MAX ? ', …' : ''}]`
    + (all.length > VALUES_MAX ? ` from ${low.toPrecision(4)} to ${high.toPrecision(4)}` : ''));
}

function drawFile(data: Uint8Array, type: string, whole: HTMLElement): void {
  createImageBitmap(new Blob([data], { type })).then((bitmap) => {
    const scale = Math.min(1, 256 / Math.max(bitmap.width, bitmap.height));
    const c = canvas(Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale)), 1, `${type}, ${bitmap.width} x ${bitmap.height}`);
    c.getContext('2d')?.drawImage(bitmap, 0, 0, c.width, c.height);
    whole.replaceChildren(c);
  }).catch(() => { /* it was cut, or is none: its size is told */ });
}

function text(base64: string): Node {
  const data = decode(base64), head = String.fromCharCode(...data.subarray(0, 8));
  const type = MAGIC.find(([magic]) => head.startsWith(magic))?.[1];
  const whole = h('div', { class: 'text' });
  if (type) {
    whole.append(`${type}, ${bytes(data.length)}`);
    drawFile(data, type, whole);
    return whole;
  }
  try {
    const words = new TextDecoder('utf-8', { fatal: true }).decode(data);
    if (!/[\0-\x08\x0e-\x1f]/.test(words)) {
      whole.append(words.slice(0, TEXT_MAX), words.length > TEXT_MAX ? ` … (${words.length} characters)` : '');
      return whole;
    }
  } catch { /* it is no text */ }
  const hex = [...data.subarray(0, 24)].map((b) => b.toString(16).padStart(2, '0')).join(' ');
  whole.append(h('code', {}, `${hex}${data.length > 24 ? ' …' : ''}`), ` (${bytes(data.length)})`);
  return whole;
}

export function picture(f: ShownField): Node {
  if (f.dtype === 'str') return h('div', {}, ...f.strings.map(text));
  if (!f.data) return h('span', { class: 'muted' }, f.bytes ? 'not shown' : 'no values');
  const l = layout(f);
  if (l && Math.min(l.dims[0], l.dims[1]) >= 4) return image(f, l);
  const least = Math.min(...f.shown), most = Math.max(...f.shown);
  if (isFloat(f) && f.shown.length === 2 && least >= 8) return spectrum(f);
  const all = numbers(f);
  if ((isFloat(f) || f.dtype === 'i16') && most > VALUES_MAX && least > 0) {
    if (f.shown.length === 1) return curve(f, all);
    if (f.shown.length === 2 && least <= 2) return h('div', {}, ...channels(f, all).map((one) => curve(f, one)));
  }
  return values(f, all);
}
