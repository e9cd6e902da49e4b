import { defineConfig } from 'vitest/config'

export default defineConfig({
  resolve: { alias: { tidegauge: new URL('./src/collector.ts', import.meta.url).pathname } },
  test: {
    include: ['test/**/*.test.ts'],
    // Real nodes, disks and browsers: generous, so that a slow machine is slow and not red.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    reporters: process.env['TEST_RESULT']
      ? ['default', ['json', { outputFile: process.env['TEST_RESULT'] }]]
      : ['default'],
  },
})
