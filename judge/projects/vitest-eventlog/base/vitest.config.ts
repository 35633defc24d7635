import { defineConfig } from 'vitest/config';

export default defineConfig({
  cacheDir: '.cache',
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    restoreMocks: true,
  },
});
