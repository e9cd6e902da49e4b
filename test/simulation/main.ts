import { runSeed } from './run.ts'

/**
 * Runs every n-th world of some seeds in a process of its own, and writes a line for each that breaks a promise:
 * `node main.ts FIRST LAST N`.
 */
const [first = 1, last = 1, step = 1] = process.argv.slice(2).map(Number)

for (let seed = first; seed <= last; seed += step) {
  await runSeed(seed).catch(error => {
    process.exitCode = 1
    console.error(error instanceof Error ? error.message : error)
  })
}
