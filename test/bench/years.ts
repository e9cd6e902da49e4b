import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../../src/config/load.ts'
import { dueHoursWanted, hourPlanOf } from '../../src/intake/due-hours.ts'
import { hourAfter } from '../../src/model/hour.ts'
import { hourMs, overdueMs } from '../../src/model/limits.ts'
import { openChecking } from '../../src/outbox/open.ts'
import { SqliteOutbox } from '../../src/outbox/sqlite/sqlite-outbox.ts'
import { exposition, metricFamilies, ProcessMetrics } from '../../src/status/exposition/exposition.ts'
import { statusJson } from '../../src/status/json.ts'
import { observe, scrape } from '../../src/status/observe.ts'
import type { Observed } from '../../src/status/sources.ts'
import { Counters } from '../../src/telemetry/counters.ts'
import { type Figure, figureHead, figureRow, isMet } from './figures.ts'
import { currentHour, makeYear, names } from './years/year-file.ts'

/**
 * Cost of a daemon's turns, as time of the processor, after a year of 1,000 collectors' hours: 8.8 million rows, and
 * 5,000 metrics an hour. Ends with 1 when a figure is not what is aimed at. `node test/bench/years.ts`
 */

const rounds = 5
const catchUpMs = 7 * 24 * hourMs

/** Time for which the processor works in the thread of the event loop: what else the machine does changes that little. */
async function timed(act: () => unknown): Promise<number> {
  const start = process.threadCpuUsage()
  await act()
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1_000
}

async function* years(file: string): AsyncGenerator<Figure> {
  const context = { nowMs: currentHour, keepMs: 35 * 24 * hourMs, collectors: [] }
  const startMs = performance.now()
  const starting = await timed(async () => {
    const { outbox } = openChecking(file, context)
    await outbox.disk.held
    outbox.close()
  })
  yield { what: 'a start', values: [starting], unit: ' ms', target: { atMost: 2_000 } }
  const lookedThroughMs = performance.now() - startMs
  yield { what: 'until the file is looked through (by the clock)', values: [lookedThroughMs], unit: ' ms' }
  const outbox = new SqliteOutbox(file)
  const plans: number[] = []
  const looks: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const current = hourAfter(currentHour, round)
    const planned = names.flatMap(collector => hourPlanOf({ collector, history: true, current, catchUpMs }) ?? [])
    const plan = () => Promise.all(planned.map(one => outbox.intake.planHours(one)))
    plans.push(await timed(plan))
    looks.push(await timed(() => outbox.intake.dueHours(dueHoursWanted(names, [], current, current))))
  }
  yield { what: 'planning an hour', values: plans, unit: ' ms', target: { atMost: 50 } }
  yield { what: 'a turn that looks at all collectors', values: looks, unit: ' ms', target: { atMost: 20 } }
  const observed = observedOf(outbox)
  const scrapes: number[] = []
  const counters = new Counters()
  const families = metricFamilies(() => scrape({ ...observed, counters }), new ProcessMetrics())
  const answers: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    scrapes.push(await timed(async () => exposition(await families())))
    answers.push(await timed(async () => JSON.stringify(statusJson(await observe(observed)))))
  }
  // The names of metrics and what was compiled are there from the first one on.
  yield { what: 'a scrape of /metrics', values: scrapes.slice(1), unit: ' ms', target: { atMost: 50 } }
  yield { what: '/status.json', values: answers.slice(1), unit: ' ms' }
  outbox.close()
  yield {
    what: 'a file of 20,000 unknown keys',
    values: [await timed(manyKeys)],
    unit: ' ms',
    target: { atMost: 2_000 },
  }
}

/** Start of the status server of a daemon that has run for a while. */
function observedOf(outbox: SqliteOutbox): Observed {
  const yaml = names.map(({ protocolId }) => `  - { id: ${protocolId}, name: P, collectors: [{ use: host, id: c }] }`)
  const config = parseConfig('/tidegauge.yaml', `service: embedded\nprotocols:\n${yaml.join('\n')}`)
  const nowMs = hourAfter(currentHour, rounds - 1) + overdueMs
  return {
    config,
    outbox,
    host: 'metrics.example',
    destinations: [],
    version: '1',
    startedAtMs: currentHour,
    processStartedAtMs: currentHour,
    configuration: { file: config.file, inForceSinceMs: currentHour },
    nowMs,
    widgets: new Map(),
    endpoints: [],
  }
}

function manyKeys(): void {
  const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`)
  try {
    parseConfig('/tidegauge.yaml', `service: embedded\nprotocols: []\n${keys.join('\n')}`)
  } catch {
    // It is refused: how long that takes is measured.
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-years-'))
try {
  makeYear(join(folder, 'outbox.db'))
  console.log(figureHead)
  for await (const figure of years(join(folder, 'outbox.db'))) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true })
}
