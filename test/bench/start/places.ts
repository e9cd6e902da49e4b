import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { systemTime } from '../../../src/edge/time.ts'
import { hourAfter, hourAt, hourNumber } from '../../../src/model/hour.ts'
import { hourOf, metricsAnHour } from '../delivery/metrics.ts'
import { openOutbox, storeHours } from '../delivery/store.ts'
import { Program } from './program.ts'
import { makeYear } from './year-file.ts'

const hourNow = () => hourAt(systemTime.nowMs())

/** As `config/local.yaml`: the service is embedded, and one shipped collector reads this machine. */
export async function localPlace(folder: string, entry: string): Promise<Program> {
  return programAt(folder, entry, 'service: embedded', [{ id: 'this-machine', collector: 'host' }])
}

const [yearProtocols, yearMetrics, yearHours] = [25, 50, 800]

/** An outbox of a million delivered metrics, and the configuration whose collectors gave them. */
export async function millionPlace(folder: string, entry: string): Promise<Program> {
  const protocols = Array.from({ length: yearProtocols }, (_, index) => ({ id: `p${index + 1}`, collector: 'c' }))
  const program = await programAt(folder, entry, 'service: embedded', protocols)
  makeYear(join(folder, 'data', 'embedded', 'outbox.db'), {
    collectors: yearProtocols,
    metricsEach: yearMetrics,
    hours: yearHours,
    keptHours: yearHours,
    end: hourNow(),
  })
  return program
}

/** A service's address, and an outbox with due metrics for it; a file as a daemon finds it after an outage. */
export async function backlogPlace(folder: string, entry: string, url: string, metrics: number): Promise<Program> {
  const hours = metrics / metricsAnHour
  const program = await programAt(folder, entry, `service: { url: "${url}", key: { file: key } }`, [
    { id: 'bench', collector: 'values' },
  ])
  writeFileSync(join(folder, 'key'), 'a-key-of-the-benchmark', { mode: 0o600 })
  const from = hourNumber(hourAfter(hourNow(), -hours)) - hourNumber(hourOf(0))
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  const outbox = openOutbox(join(folder, 'data', 'outbox.db'), hours, from)
  await storeHours(outbox, from, hours)
  outbox.close()
  return program
}

interface Used {
  readonly id: string
  readonly collector: string
}

async function programAt(folder: string, entry: string, service: string, protocols: readonly Used[]): Promise<Program> {
  const port = await freePort()
  const entries = protocols.map(
    ({ id, collector }) => `  - { id: ${id}, name: P, collectors: [{ use: host, id: ${collector} }] }`,
  )
  const lines = [
    service,
    'data: data',
    `status: { listen: "127.0.0.1:${port}" }`,
    'delivery: { pace: 1000 }',
    'protocols:',
    ...entries,
  ]
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'tidegauge.yaml')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return new Program(entry, file, port)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
