import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { isSoak } from './test/support/soak.ts'

// Every command line that a test starts would compile the same sources again: half of what its start costs.
process.env['NODE_COMPILE_CACHE'] ??= new URL('./node_modules/.cache/node-compile', import.meta.url).pathname

export default defineConfig({
  resolve: { alias: { tidegauge: new URL('./src/collector.ts', import.meta.url).pathname } },
  test: {
    include: [isSoak ? 'test/**/*.soak.test.ts' : 'test/**/*.test.ts'],
    // Real nodes, disks and browsers: generous, so that a slow machine is slow and not red.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // One more than there are cores, by default it is one fewer: many tests wait for processes, pipes and deadlines.
    maxWorkers: availableParallelism() + 1,
    reporters: process.env['TEST_RESULT']
      ? ['default', ['json', { outputFile: process.env['TEST_RESULT'] }]]
      : ['default'],
  },
})
