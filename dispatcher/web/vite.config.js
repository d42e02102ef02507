// SPDX-License-Identifier: Apache-2.0
// One script, one style sheet, under names that stay: they become part of the dispatcher.
import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    target: 'es2020',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { output: { entryFileNames: 'app.js', assetFileNames: 'app[extname]' } },
  },
});
