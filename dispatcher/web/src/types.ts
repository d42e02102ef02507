// SPDX-License-Identifier: Apache-2.0
// What the dispatcher sends: the same objects as `cachew top --json` and `cachew explain --json`.

export interface Window {
  at_s: number; seconds: number; batches: number; batch_s: number; wait_share: number;
  queue: number; step_s: number; worker_rate: number; cpu: number; remote: number; local: number;
  [use: `threads_${string}`]: number;
}
export interface Job {
  id: string; name: string; state: string; error: string; tenant: string; cache: string;
  autoscale: string; autocache: string; cached_node: string; other_files: string; plan_error: string;
  waits_for: string; waits_ms: number; wait_share: number; consumer_waits: (number | null)[];
  epoch: number; epochs: number; items: number; consumed: number; elements: number; bytes: number;
  clients: number; consumers: number; assigned: number; wanted: number; granted: number; local: number;
  hits: number; hit_share: number; skipped: number; items_s: number; epoch_done: number;
  cpu_seconds: number; worker_seconds: number; cost: number; window: Window | null;
}
export interface Worker {
  id: string; address: string; host: string; state: string; pod: string; node: string;
  other_files_job: string; other_files: string; unreachable_job: string; unreachable: string;
  threads: number; leased: number; done: number; budget_bytes: number; budget_used: number;
  silent_ms: number; cpu_share: number; cpu_cores: number;
  host_cpus: number | null; host_cpu_share: number | null; host_load: number | null; jobs: string[];
}
export interface Source { source: string; bytes: number; files: number; cached_bytes: number; percent: number }
export interface Cache {
  id: number; name: string; url: string; tenant: string; state: string; why: string; away: boolean; full: boolean;
  full_why: string;
  quota: number; capacity: number; bytes: number; records: number; chunks: number; keys: number;
  hits: number; misses: number; hit_share: number; source_bytes: number; users: string[]; sources: Source[];
}
export interface Decision {
  id: number; time_ms: number; epoch: number; job: string | null; name: string | null; kind: string;
  policy: string; choice: string | null; reason: string; candidates: string[]; inputs: unknown;
}
export interface Fleet {
  provisioner: string; ready: number; starting: number; draining: number; wanted: number; threads: number;
  cpu_cores: number; budget_used: number; budget_bytes: number;
}
export interface Look {
  version: string; generation: number; uptime_ms: number; fleet: Fleet;
  jobs: Job[]; workers: Worker[]; caches: Cache[]; decisions: Decision[]; gone: string[];
}
export interface Operator {
  node: string; op: string; elements: number; hits: number; cpu_ns: number; wall_ns: number; bytes: number;
}
export interface Who { kind: string; name: string; may_act: boolean; elements: boolean }
export interface ShownField {
  name: string; dtype: string; bytes: number; dims: number[]; shown: number[]; data: string; strings: string[];
}
export interface Shown {
  allowed: boolean; shown: boolean; age_ms: number; epoch: number; item: number; rows: number; elements: ShownField[][];
}
export interface Explained {
  job: string; name: string; policy: string; hits: number; standing: Job; bad_n: number;
  bad: { file: string; node: string; op: string; reason: string; epoch: number; record: number }[];
  windows: Window[]; operators: Operator[]; says: Decision[]; decided: boolean; now: Decision | null;
  decisions: Decision[];
}
export interface GraphNode { op: string; name?: string; inputs?: string[]; [option: string]: unknown }
export interface Graph { pipeline: GraphNode[] }
export interface CatalogueRow {
  tenant: string; key: string; pipeline: string; node: string; op: string; chunks: number; records: number;
  bytes: number; ids: number; hits: number; saved_ns: number; cost_ns: number; readers: number; pinned: boolean;
}
export interface Catalogue {
  url: string; evict: string; bytes: number; chunks: number; quota: number; store_free: number;
  store_total: number; evicted: number; damaged: number; lost: number; full: boolean; away: boolean;
  rows: CatalogueRow[];
}
