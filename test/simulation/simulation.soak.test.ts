import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { repetitions } from '../support/soak.ts'

/**
 * `SEEDS=20000 npx vitest run test/simulation` runs more worlds, `SEED=123 TRACE=1 npx vitest run test/simulation` one
 * again and tells what happens in it.
 */
const { SEED, SEEDS } = process.env
const first = Number(SEED ?? 1)
const last = Number(SEED ?? SEEDS ?? repetitions({ test: 1, soak: 2_000 }))

/** Many times what it takes: one that is not done by then hangs. */
const patienceMs = 120_000 + (last - first) * 400

it(
  `a daemon keeps what is promised in the worlds of seeds ${first} to ${last}`,
  async () => {
    const processes = SEED === undefined ? availableParallelism() : 1
    const broken = await Promise.all(Array.from({ length: processes }, (_, index) => run(first + index, processes)))
    expect(broken.join('')).toBe('')
  },
  2 * patienceMs,
)

/** Every n-th world from a seed on. @returns what went wrong, empty when nothing did */
async function run(from: number, step: number): Promise<string> {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const child = spawn(process.execPath, ['--no-warnings', main, `${from}`, `${last}`, `${step}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  })
  const [output, broken, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  if (SEED !== undefined) console.log(output)
  if (code === 0) return ''
  return code === 1
    ? broken
    : `${broken}it ended with ${code ?? 'no end: it hangs'} at ${output.trim().split('\n').at(-1)}\n`
}
