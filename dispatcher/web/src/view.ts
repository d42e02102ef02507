// SPDX-License-Identifier: Apache-2.0
import type { Store } from './store';

// One view of the page; it is made when it is opened.
export interface View {
  readonly title: string; // It may change with an update.
  readonly element: HTMLElement;
  update(store: Store): void;
  close?(): void;
}
