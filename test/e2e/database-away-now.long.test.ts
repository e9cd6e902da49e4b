import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openPostgresOutbox } from '../../src/outbox/postgres/postgres-outbox.ts'
import { answering } from '../support/listening.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { addressOf } from '../support/postgres/place.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { configured, startDaemon, untilNextLook } from '../support/tidegauge.ts'

const levelNow = `import { defineCollector, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({ url: z.string() }),
  metrics: { Level: {} },
  history: false,
  async collect({ options, http }) {
    return { Level: await http.json(options.url, z.number()) }
  },
})
`

/** A source that answers each request with the next number, once it may. */
async function numbers() {
  let reads = 0
  const asked: (() => void)[] = []
  const may = Promise.withResolvers<void>()
  const url = await answering(async () => {
    reads += 1
    const own = reads
    for (const resolve of asked.splice(0)) resolve()
    await may.promise
    return { body: own }
  })
  return {
    url: `${url}/`,
    answer: may.resolve,
    async read() {
      while (reads === 0) await new Promise<void>(resolve => asked.push(resolve))
    },
  }
}

describe.skipIf(postgresPlace.kind === 'missing')('a value that can be read only now, without a database', () => {
  const databases = useTestDatabases()

  it('waits on this machine, outlives a kill, and is stored when the database is back', async () => {
    const source = await numbers()
    const address = await databases.empty()
    const { folder, config } = configured(
      `service: { url: "http://127.0.0.1:9", key: { env: METRICS_KEY } }
data: { postgres: { env: DATABASE_URL } }
fleet: { name: eu-1 }
status: { listen: "127.0.0.1:0" }
protocols: [{ id: tides, name: Tides, collectors: [{ use: ./level.ts, options: { url: "${source.url}" } }] }]
`,
      { 'level.ts': levelNow },
    )
    const env = { METRICS_KEY: 'a-key-nobody-may-see', DATABASE_URL: address }
    const first = await startDaemon(config, env)
    await source.read()
    await databases.server.pause()
    source.answer()
    await first.logged('values that can be read only now are kept in the local folder')
    expect(readdirSync(join(folder, 'data', 'kept'))).toHaveLength(1)
    const answer = await fetch(`${first.url}/readyz`)
    expect(answer.status).toBe(503)
    const ready = (await answer.json()) as { readonly reasons: readonly string[]; readonly causes: readonly string[] }
    expect(ready.reasons.join(' ')).toMatch(
      /cannot be reached.*Values of 1 hour wait in .*kept until the database takes/,
    )
    expect(ready.causes.slice(0, 2)).toEqual(['outbox-unread', 'kept-locally'])
    await first.kill('SIGKILL')
    await databases.server.start()
    const second = await startDaemon(config, env)
    await second.logged('kept values are in the database now')
    while (readdirSync(join(folder, 'data', 'kept')).length > 0) await untilNextLook()
    const outbox = await openPostgresOutbox(addressOf(address))
    onTestFinished(() => outbox.close())
    const [oldest] = await outbox.operators.history('tides___Level')
    // Another hour may have begun meanwhile.
    expect(oldest).toMatchObject({ value: 1, state: 'due' })
    expect(await second.kill('SIGTERM')).toBe(0)
  })
})
