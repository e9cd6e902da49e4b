import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { useTestDatabases } from '../../support/postgres/databases.ts'
import { postgresPlace } from '../../support/postgres/programs.ts'
import { repetitions } from '../../support/soak.ts'

/**
 * `SEEDS=500 npx vitest run test/fleet/runs` runs more fleets, `FROM=101 SEEDS=120 …` those of these seeds, and
 * `SEED=123 TRACE=1 npx vitest run test/fleet/runs` one again and prints its history. The server's answers come in no
 * fixed order, so that one seed may take several turns.
 */
const { SEED, SEEDS, FROM } = process.env
const first = Number(SEED ?? FROM ?? 1)
const last = Number(SEED ?? SEEDS ?? repetitions({ test: 2, soak: 24 }))

/** Many times what it takes: one that is not done by then hangs. */
const patienceMs = 120_000 + (last - first) * 20_000

describe.skipIf(postgresPlace.kind === 'missing')('fleets in trouble', () => {
  const databases = useTestDatabases({ max_connections: '200', synchronous_commit: 'off' })

  it(
    `keep what is promised in the runs of seeds ${first} to ${last}`,
    async () => {
      const processes = SEED === undefined ? availableParallelism() : 1
      const broken = await Promise.all(Array.from({ length: processes }, (_, index) => run(first + index, processes)))
      expect(broken.join('')).toBe('')
    },
    2 * patienceMs,
  )

  /** Every n-th run from a seed on. @returns what went wrong, empty when nothing did */
  async function run(from: number, step: number): Promise<string> {
    const name = `runs_${from}`
    await databases.server.query(`CREATE DATABASE ${name}`)
    await databases.server.query(`ALTER DATABASE ${name} SET search_path = sim, pg_catalog, public`)
    const main = fileURLToPath(new URL('main.ts', import.meta.url))
    const numbers = [from, last, step].map(String)
    const child = spawn(process.execPath, ['--no-warnings', main, ...numbers, databases.server.address('', name)], {
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
})
