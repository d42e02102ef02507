// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as `cachew top` writes them.

export function count(n: number): string {
  if (!Number.isFinite(n)) return '-';
  if (n < 10_000) return String(Math.round(n * 10) / 10 === Math.round(n) ? Math.round(n) : n.toFixed(1));
  if (n < 1e6) return `${(n / 1e3).toFixed(1)} k`;
  if (n < 1e9) return `${(n / 1e6).toFixed(1)} M`;
  return `${(n / 1e9).toFixed(1)} G`;
}

export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  while (n >= 1023.95 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i === 0 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

export function duration(seconds: number): string {
  if (seconds <= 0) return '0';
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(1)} us`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(seconds < 0.1 ? 1 : 0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} d`;
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

export function moment(ms: number): string {
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `
    + `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

export function several(n: number, one: string): string {
  return `${n} ${one}${n === 1 ? '' : 's'}`;
}
