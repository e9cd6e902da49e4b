import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../../src/model/hour.ts'
import { hourMs, retryAfterMsMax } from '../../src/model/limits.ts'
import { hourStates } from '../../src/outbox/store/hours.ts'
import { destinationStates } from '../../src/outbox/store/notes.ts'
import { backlogOf, metricsBetween } from '../../src/outbox/store/values.ts'
import { anHour } from '../support/metrics.ts'
import { sampleOf } from '../support/soak.ts'
import { atOnce } from '../support/stored-hours.ts'
import { VirtualTime } from '../support/virtual-time.ts'
import { Machine, type MachineParts, makeAged, oldHours } from './support/machine.ts'

const minuteMs = 60_000
const dayMs = 24 * hourMs

/** Off by what. */
const spans: readonly (readonly [string, number])[] = [
  ['a minute', minuteMs],
  ['an hour', hourMs],
  ['5 h', 5 * hourMs],
  ['30 days', 30 * dayMs],
  ['50 years', 50 * 365 * dayMs],
]

/** When the clock is wrong for a minute. */
type From = 'at the start' | 'while it runs' | 'across a full hour'

const worlds = spans
  .flatMap(([span, ms]) =>
    ([-ms, ms] as const).flatMap(offMs =>
      (['at the start', 'while it runs', 'across a full hour'] as const).map(from => {
        const name = `${span} ${offMs < 0 ? 'behind' : 'ahead'} ${from}`
        return [name, offMs, from] as const
      }),
    ),
  )
  .map((world, index) => [...world, index] as const)

const folder = mkdtempSync(join(tmpdir(), 'tidegauge-test-'))
const aged = join(folder, 'aged.db')
beforeAll(() => makeAged(aged, hourAfter(anHour, -1)))
afterAll(() => rmSync(folder, { recursive: true }))

const both = [true, false] as const
const kinds: readonly MachineParts[] = both.flatMap(history =>
  (['service', 'chain', 'none'] as const).flatMap(witness =>
    both.map(isOld => ({ history, witness, ...(isOld && { aged }) })),
  ),
)

/** Every third kind of machine: in the next world it is others, for each time at which the clock is wrong in turn. */
const kindsOf = (world: number) => kinds.filter((_, index) => (index + world + Math.floor(world / 3)) % 3 === 0)

const nextHour = hourAfter(anHour, 1)
const lastMs = nextHour + 5 * minuteMs
/** Within so long of being right a clock is believed, where somebody can say how late it is. */
const soonMs = 15_000

/** Machines of all kinds whose clock is wrong for a minute, some minutes after the next full hour. */
async function lived(offMs: number, from: From, of = kinds): Promise<(readonly [MachineParts, Machine])[]> {
  const wrongMs = from === 'across a full hour' ? nextHour - 30_000 : nextHour - 9 * minuteMs
  const time = new VirtualTime(from === 'at the start' ? wrongMs : wrongMs - 3 * minuteMs)
  const machines = of.map(parts => [parts, new Machine(time, parts)] as const)
  const set = (aheadMs: number) => {
    for (const [, { clock }] of machines) clock.aheadMs = aheadMs
  }
  if (from === 'at the start') set(offMs)
  for (const [, machine] of machines) machine.start()
  if (from !== 'at the start') await time.sleep(wrongMs - time.nowMs())
  set(offMs)
  await time.sleep(minuteMs)
  set(0)
  await time.sleep(soonMs)
  for (const [, machine] of machines) machine.isSoonBelieved = machine.watched?.verdict.kind === 'trusted'
  await time.sleep(lastMs - time.nowMs())
  for (const [, machine] of machines) await machine.stop()
  return machines
}

/** Mistakes in what is left, as sentences. */
function left(machine: Machine, { history, witness, aged }: MachineParts): string[] {
  const { outbox, reads, lines } = machine
  const first = aged === undefined ? anHour : hourAfter(anHour, -oldHours)
  const states = atOnce(outbox, () => hourStates('vault/a', hourMs as Hour, hourAfter(anHour, 100 * 365 * 24)))
  const expected = hoursFrom(first, nextHour).map(hour => `${hour} collected`)
  const found = [...states].map(([hour, state]) => `${hour} ${state}`)
  const values = atOnce(outbox, () => metricsBetween(hourMs as Hour, hourAfter(anHour, 100 * 365 * 24)))
  const wrongReads = new Set(
    reads.filter(({ hour, atMs }) => !history && hour !== hourAt(atMs)).map(({ atMs }) => atMs),
  )
  const balance = atOnce(outbox, backlogOf).balance
  const [state] = atOnce(outbox, () => destinationStates(['service']))
  const { notBeforeMs = 0, probeAtMs = 0 } = state ?? {}
  const reports = lines.filter(line => !['collected', 'delivery waits'].includes(line))
  const sound: readonly (readonly [boolean, string])[] = [
    [[...states.keys()][0] === first, 'its start has moved'],
    [
      found.join() === expected.join(),
      `hours: ${found.filter(row => !expected.includes(row))}, missing ${expected.filter(row => !found.includes(row))}`,
    ],
    [values.length === expected.length, `${values.length} values of ${expected.length} hours`],
    [!values.some(({ value }) => wrongReads.has(value)), 'a value stands under an hour it was not read in'],
    [
      balance.due === (witness === 'service' ? 0 : 2) && balance.dead + balance.held === 0,
      `the balance is ${JSON.stringify(balance)}`,
    ],
    [Math.max(notBeforeMs, probeAtMs) < lastMs + retryAfterMsMax, 'delivery waits for decades'],
    [machine.isSoonBelieved || witness === 'none', 'the clock is doubted for long'],
    [machine.watched?.verdict.kind === 'trusted', 'the clock is doubted for good'],
    [reports.length < 8, `it is reported ${reports.length} times: ${reports}`],
  ]
  return sound.flatMap(([holds, what]) => (holds ? [] : [what]))
}

describe('a clock that is wrong for a minute leaves nothing behind:', () => {
  it.each(sampleOf(worlds, 6))('%s', async (_, offMs, from, world) => {
    const machines = await lived(offMs, from, kindsOf(world))
    expect(machines.map(([parts, machine]) => ({ ...parts, left: left(machine, parts) }))).toEqual(
      kindsOf(world).map(parts => ({ ...parts, left: [] })),
    )
  })

  it('the file is as large as that of a clock that was right', async () => {
    const bytes = async (offMs: number) =>
      (await lived(offMs, 'at the start', kindsOf(0))).map(([, machine]) => machine.bytes)
    const right = await bytes(0)
    for (const offMs of [-50 * 365 * dayMs, 30 * dayMs]) {
      for (const [index, size] of (await bytes(offMs)).entries())
        expect(size).toBeLessThan((right[index] ?? 0) + 65_536)
    }
  })
})
