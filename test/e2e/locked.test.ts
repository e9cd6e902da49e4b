import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { outboxSchema } from '../../src/outbox/sqlite/outbox-salvage.ts'
import { openDatabase } from '../../src/sqlite/database.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { listening } from '../support/listening.ts'
import { configured, startDaemon } from '../support/tidegauge.ts'

const env = { METRICS_KEY: 'a-key-nobody-may-see' }
const hours = 48
const labels = 40
/** More pushes than are under way at a time. */
const pushesWhileLocked = 8

/** A service that refuses the first pushes, and then takes everything. */
async function service() {
  let more = Promise.withResolvers<void>()
  const state = { url: '', isDown: true, pushes: 0, next: () => more.promise }
  state.url = await listening((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', text => {
      body += text
    })
    request.on('end', () => {
      if (state.isDown) return void response.writeHead(503).end()
      const { metrics } = JSON.parse(body || '{"metrics":[]}') as { metrics: unknown[] }
      response.end(JSON.stringify({ success: true, processed: metrics.length, errors: [], warnings: [] }))
      state.pushes += 1
      more.resolve()
      more = Promise.withResolvers()
    })
  })
  return state
}

const many = `import { defineCollector, z } from 'tidegauge'
const labels = Array.from({ length: ${labels} }, (_, index) => 'M' + index)
export default defineCollector({
  options: z.strictObject({}),
  metrics: Object.fromEntries(labels.map(label => [label, {}])),
  history: true,
  collect: async ({ hour }) => Object.fromEntries(labels.map((label, index) => [label, hour / 3_600_000 + index])),
})
`

function yamlOf(url: string): string {
  const since = new Date(Math.floor(Date.now() / 3_600_000 - hours + 1) * 3_600_000).toISOString().replace('.000', '')
  return `service: { url: "${url}", key: { env: METRICS_KEY } }
status: { listen: "127.0.0.1:0" }
delivery: { pace: 200 }
protocols:
  - id: vault
    name: Vault
    collectors:
      - { use: ./many.ts, since: ${since} }
`
}

it('another process that has the write lock stops neither pushes, nor pages, nor the end of the daemon', async () => {
  const to = await service()
  const { config, folder } = configured(yamlOf(to.url), { 'many.ts': many })
  const daemon = await startDaemon(config, env)
  await daemon.status<StatusJson>(({ balance }) => balance.due >= hours * labels)

  const other = openDatabase(join(folder, 'data', 'outbox.db'), outboxSchema)
  onTestFinished(() => void other.close())
  other.exec('BEGIN IMMEDIATE')
  to.isDown = false
  while (to.pushes < pushesWhileLocked) await to.next()
  const codes = await Promise.all(['livez', '', 'status.json', 'metrics'].map(path => fetch(`${daemon.url}/${path}`)))
  expect(codes.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  const locked = await daemon.status<StatusJson>(() => true)
  expect(locked.balance).toMatchObject({ delivered: 0 })

  other.exec('ROLLBACK')
  await daemon.status<StatusJson>(({ balance }) => balance.delivered >= hours * labels)
  other.exec('BEGIN IMMEDIATE')
  expect(await daemon.kill('SIGTERM')).toBe(0)
  other.exec('ROLLBACK')
})
