import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inputSpans } from '../../src/intake/derived/derived-values.ts'
import { collectDerived } from '../../src/intake/derived-hours.ts'
import { type Hour, hourAfter, hoursFrom, parseHour } from '../../src/model/hour.ts'
import { metricId } from '../../src/model/metric.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { type Figure, figureHead, figureRow, isMet } from './figures.ts'

/**
 * Cost of an hour of 100 derived values over windows of 168 hours, each of another metric, as time of the processor. Ends
 * with 1 when it is not what is aimed at. `node test/bench/derived.ts`
 */

const rounds = 15
const [count, hours] = [100, 168]
const takes = ['sum', 'mean', 'max', 'sum', 'annualised'] as const
const first = parseHour('2026-01-01T00:00:00Z')

const place = { file: '/tidegauge.yaml', line: 1, column: 1 }
const labels = Array.from({ length: count }, (_, index) => `M${index}`)
const windows = labels.map((label, index) => [
  `D${index}`,
  { of: metricId('vault', label), take: takes[index % takes.length], hours },
])
const collector = {
  id: 'vault/derived',
  protocolId: 'vault',
  use: 'derived',
  options: { values: Object.fromEntries(windows) },
  place,
  placeOf: () => place,
}
const description = { history: true, metrics: Object.fromEntries(windows.map(([label]) => [String(label), {}])) }

function accepted(hour: Hour) {
  return labels.map((label, index) => {
    const value = 1e6 + Math.sin(index + hour / 3_600_000) * 1e5
    return { metric: { id: metricId('vault', label), protocolId: 'vault', hour, value } }
  })
}

async function derivedHours(file: string): Promise<Figure> {
  const outbox = new SqliteOutbox(file)
  const { intake } = outbox
  const record = (id: string, hour: Hour, metrics: ReturnType<typeof accepted>) =>
    intake.record({ collector: id, hour, accepted: metrics, unexpected: true }, hour)
  const last = hourAfter(first, hours)
  for (const hour of hoursFrom(first, last)) await record('vault/inputs', hour, accepted(hour))
  await intake.setInputs(collector.id, inputSpans(collector))
  const values: number[] = []
  for (const hour of hoursFrom(hourAfter(last, 1), hourAfter(last, rounds))) {
    await record('vault/inputs', hour, accepted(hour))
    const start = process.threadCpuUsage()
    const [computed] = await collectDerived([{ collector, description, hour }], intake)
    if (computed?.accepted.length !== count) throw new Error(computed?.fault?.message ?? 'not all are computed')
    await intake.record({ collector: collector.id, hour, accepted: computed.accepted, unexpected: true }, hour)
    const { user, system } = process.threadCpuUsage(start)
    values.push((user + system) / 1_000)
  }
  outbox.close()
  return { what: `${count} derived values over ${hours} hours`, values, unit: ' ms', target: { atMost: 50 } }
}

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-bench-'))
try {
  console.log(figureHead)
  const figure = await derivedHours(join(folder, 'outbox.db'))
  console.log(figureRow(figure))
  if (isMet(figure) === false) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
