import { defineConfig } from 'vitest/config';

export default defineConfig({
  cacheDir: '.cache/vite',
  test: {
    include: ['test/**/*.test.js'],
    setupFiles: ['test/support/clock.js'],
    environment: 'node',
  },
});
