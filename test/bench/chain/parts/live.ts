import { WatchedClock } from '../../../../src/intake/hour-clock.ts'
import { Intake } from '../../../../src/intake/intake.ts'
import { type Hour, hourAfter } from '../../../../src/model/hour.ts'
import { hourMs } from '../../../../src/model/limits.ts'
import { SqliteOutbox } from '../../../../src/outbox/sqlite/sqlite-outbox.ts'
import { createLog } from '../../../../src/telemetry/log.ts'
import { Redactor } from '../../../../src/telemetry/redactor.ts'
import { forgetCounts, startArchive, syntheticArchive } from '../../../chain/support/synthetic-archive.ts'
import { syntheticKinds } from '../../../chain/support/synthetic-kinds.ts'
import { openSyntheticReader, randomPlaces } from '../../../chain/support/synthetic-reader.ts'
import { PlainRunner } from '../../../chain/support/synthetic-runner.ts'
import { collector, pipelineOn } from '../../../support/collectors.ts'
import { rowsBetween } from '../../../support/stored-hours.ts'
import { Place } from '../../delivery/place.ts'
import type { Figure } from '../../figures.ts'
import { QuietTime } from '../quiet-time.ts'

const seed = 4
const places = 3
const hours = 24
const warmUpHours = 3
const collectorsAll = 10
/** Hours are counted from well before they begin to well after all that belongs to them is done. */
const beforeMs = 600_000

/** Cost of hours as they pass: the daemon's intake with ten collectors of one chain, and a clock that jumps. */
export async function* liveHours(): AsyncGenerator<Figure> {
  const archive = syntheticArchive(syntheticKinds.slots())
  const node = await startArchive(archive)
  const counted: { requests: number; calls: number; methods: ReadonlyMap<string, number> }[] = []
  for (const from of randomPlaces(archive, places, hours + 10, seed)) {
    const time = new QuietTime(hourAfter(from, -warmUpHours) - beforeMs)
    archive.beforeAnswer = () => {
      archive.head = archive.chain.asOf(time.nowMs() / 1_000)
    }
    await passing(node.url, time, from, () => forgetCounts(archive))
    const { requests, calls, callsByMethod } = archive.counts
    counted.push({ requests: requests / hours, calls: calls / hours, methods: new Map(callsByMethod) })
  }
  await node.stop()
  const what = `a live hour of ${collectorsAll} collectors`
  yield { what: `${what}: HTTP requests`, values: counted.map(({ requests }) => requests), target: { atMost: 2 } }
  yield { what: `${what}: calls`, values: counted.map(({ calls }) => calls) }
  for (const method of counted[0]?.methods.keys() ?? []) {
    yield { what: `${what}: ${method}`, values: counted.map(({ methods }) => (methods.get(method) ?? 0) / hours) }
  }
}

/** Lets some hours pass by, and throws when one of them was not collected. */
async function passing(url: string, time: QuietTime, from: Hour, warm: () => void): Promise<void> {
  await using place = new Place()
  const outbox = new SqliteOutbox(place.file('outbox.db'))
  const reader = openSyntheticReader(url, time, outbox.intake.finalBlocks(1))
  // It is years ago, and believed all the same: the head of the chain agrees.
  const clock = new WatchedClock(time)
  clock.meet({ service: false, chains: true })
  clock.sawHead('synthetic', time.nowMs())
  const intake = new Intake({
    outbox,
    pipeline: pipelineOn(new PlainRunner(reader), clock, { clock, chains: [reader] }),
    collectors: Array.from({ length: collectorsAll }, (_, index) =>
      collector(`five-${index}`, { protocolId: `bench-${index}` }),
    ),
    chains: [reader],
    catchUpMs: 7 * 24 * hourMs,
    time: clock,
    clock,
    log: createLog('warn', new Redactor()),
  })
  await time.passUntil(from - beforeMs)
  warm()
  await time.passUntil(hourAfter(from, hours) - beforeMs)
  await intake.stop()
  reader.close()
  const rows = await rowsBetween(outbox, from, hourAfter(from, hours - 1))
  outbox.close()
  const missing = hours * collectorsAll - rows.filter(({ state }) => state === 'collected').length
  if (missing > 0) throw new Error(`${missing} hours were not collected`)
}
