import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/**
 * `SEEDS=20000 npx vitest run test/simulation` runs more worlds, `SEED=123 TRACE=1 npx vitest run test/simulation` one
 * again and tells what happens in it.
 */
const { SEED, SEEDS } = process.env
const first = Number(SEED ?? 1)
const last = Number(SEED ?? SEEDS ?? 2_000)

it(`a daemon keeps what is promised in the worlds of seeds ${first} to ${last}`, { timeout: 3_600_000 }, async () => {
  const processes = SEED === undefined ? availableParallelism() : 1
  const broken = await Promise.all(Array.from({ length: processes }, (_, index) => run(first + index, processes)))
  expect(broken.join('')).toBe('')
})

/** Every n-th world from a seed on. @returns what went wrong, empty when nothing did */
async function run(from: number, step: number): Promise<string> {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--no-warnings', main, `${from}`, `${last}`, `${step}`], {
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const [broken, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return code === 0 ? '' : `${broken || `the simulation ended with ${code}`}`
}
