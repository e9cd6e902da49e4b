import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { isSoak } from './test/support/soak.ts'

// Every command line that a test starts would compile the same sources again: half of what its start costs.
process.env['NODE_COMPILE_CACHE'] ??= new URL('./node_modules/.cache/node-compile', import.meta.url).pathname

// `npm test` leaves out what takes long.
const pattern = isSoak ? '*.{soak,long}.test.ts' : '!(*.long).test.ts'

/** Files whose commands run in the process of the tests: they load the program's bundle there. */
const commandFiles = [`test/{cli,e2e}/**/${pattern}`]

/** Files with a process of their own: zod has one registry of schemas a process, and patterns are watched as modules load. */
const aloneFiles = isSoak ? ['test/patterns.long.test.ts'] : ['test/reference/openapi.test.ts']

export default defineConfig({
  resolve: {
    alias: {
      'tidegauge/testing': new URL('./src/testing.ts', import.meta.url).pathname,
      tidegauge: new URL('./src/collector.ts', import.meta.url).pathname,
    },
  },
  test: {
    projects: [
      // To load the program once a worker, and not once a file, saves more than half of what most files cost.
      {
        extends: true,
        test: {
          name: 'modules',
          isolate: false,
          include: [`test/**/${pattern}`],
          exclude: [...configDefaults.exclude, ...commandFiles, ...aloneFiles],
        },
      },
      { extends: true, test: { name: 'commands', isolate: false, include: commandFiles } },
      { extends: true, test: { name: 'alone', include: aloneFiles } },
    ],
    globalSetup: './test/support/built.ts',
    // Real nodes, disks and browsers, and no test has a limit of its own: a slow machine is slow and not red.
    testTimeout: isSoak ? 1_200_000 : 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 200_000 } },
    // A worker runs many files.
    unstubEnvs: true,
    pool: 'forks',
    // One more than there are cores, by default it is one fewer: many tests wait for processes, pipes and deadlines.
    maxWorkers: availableParallelism() + 1,
    reporters: process.env['TEST_RESULT']
      ? ['default', ['json', { outputFile: process.env['TEST_RESULT'] }]]
      : ['default'],
  },
})
