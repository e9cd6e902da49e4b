import { runSeed } from './run.ts'

/**
 * Runs every n-th world of some seeds in a process of its own: `node main.ts FIRST LAST N`. Each seed is said on stdout
 * before it begins, each broken promise on stderr.
 */
const [first = 1, last = 1, step = 1] = process.argv.slice(2).map(Number)

for (let seed = first; seed <= last; seed += step) {
  console.log(`seed ${seed}`)
  await runSeed(seed).catch(error => {
    process.exitCode = 1
    console.error(error instanceof Error ? error.message : error)
  })
}
