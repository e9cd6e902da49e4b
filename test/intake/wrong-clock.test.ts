import { describe, expect, it } from 'vitest'
import { type Hour, hourAfter, hourAt, hoursFrom } from '../../src/model/hour.ts'
import { hourMs, retryAfterMsMax } from '../../src/model/limits.ts'
import { anHour } from '../support/metrics.ts'
import { VirtualTime } from '../support/virtual-time.ts'
import { Machine, type MachineParts, oldHours } from './support/machine.ts'

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

const worlds = spans.flatMap(([span, ms]) =>
  ([-ms, ms] as const).flatMap(offMs =>
    (['at the start', 'while it runs', 'across a full hour'] as const).map(from => {
      const name = `${span} ${offMs < 0 ? 'behind' : 'ahead'} ${from}`
      return [name, offMs, from] as const
    }),
  ),
)

const both = [true, false] as const
const kinds: readonly MachineParts[] = both.flatMap(history =>
  both.flatMap(isReachable => both.map(isOld => ({ history, isReachable, isOld }))),
)

const nextHour = hourAfter(anHour, 1)
const lastMs = nextHour + 5 * minuteMs

/** Machines of all kinds whose clock is wrong for a minute, some minutes after the next full hour. */
async function lived(offMs: number, from: From): Promise<(readonly [MachineParts, Machine])[]> {
  const wrongMs = from === 'across a full hour' ? nextHour - 30_000 : nextHour - 9 * minuteMs
  const time = new VirtualTime(from === 'at the start' ? wrongMs : wrongMs - 3 * minuteMs)
  const machines = kinds.map(parts => [parts, new Machine(time, parts)] as const)
  const set = (aheadMs: number) => {
    for (const [, { clock }] of machines) clock.aheadMs = aheadMs
  }
  for (const [{ isOld }, machine] of machines) if (isOld) await machine.age()
  if (from === 'at the start') set(offMs)
  for (const [, machine] of machines) machine.start()
  if (from !== 'at the start') await time.sleep(wrongMs - time.nowMs())
  set(offMs)
  await time.sleep(minuteMs)
  set(0)
  await time.sleep(lastMs - time.nowMs())
  for (const [, machine] of machines) await machine.stop()
  return machines
}

/** What is wrong with what is left, as sentences. */
function left(machine: Machine, { history, isReachable, isOld }: MachineParts): string[] {
  const { outbox, reads, lines } = machine
  const first = isOld ? hourAfter(anHour, -oldHours) : anHour
  const states = outbox.collections.states('vault/a', hourMs as Hour, hourAfter(anHour, 100 * 365 * 24))
  const expected = hoursFrom(first, nextHour).map(hour => `${hour} collected`)
  const found = [...states].map(([hour, state]) => `${hour} ${state}`)
  const values = outbox.metrics.between(hourMs as Hour, hourAfter(anHour, 100 * 365 * 24))
  const wrongReads = new Set(
    reads.filter(({ hour, atMs }) => !history && hour !== hourAt(atMs)).map(({ atMs }) => atMs),
  )
  const balance = outbox.tally.balance()
  const { notBeforeMs, probeAtMs } = outbox.destinations.get('service')
  const told = lines.filter(line => !['collected', 'delivery waits'].includes(line))
  const sound: readonly (readonly [boolean, string])[] = [
    [outbox.collections.since('vault/a') === first, 'its start has moved'],
    [
      found.join() === expected.join(),
      `hours: ${found.filter(row => !expected.includes(row))}, missing ${expected.filter(row => !found.includes(row))}`,
    ],
    [values.length === expected.length, `${values.length} values of ${expected.length} hours`],
    [!values.some(({ value }) => wrongReads.has(value)), 'a value stands under an hour it was not read in'],
    [
      balance.due === (isReachable ? 0 : 2) && balance.dead + balance.held === 0,
      `the balance is ${JSON.stringify(balance)}`,
    ],
    [Math.max(notBeforeMs, probeAtMs) < lastMs + retryAfterMsMax, 'delivery waits for decades'],
    [machine.watched?.verdict.kind === 'trusted', 'the clock is doubted for good'],
    [told.length < 8, `it is told ${told.length} times: ${told}`],
  ]
  return sound.flatMap(([holds, what]) => (holds ? [] : [what]))
}

describe('a clock that is wrong for a minute leaves nothing behind:', () => {
  it.each(worlds)('%s', async (_, offMs, from) => {
    const machines = await lived(offMs, from)
    expect(machines.map(([parts, machine]) => ({ ...parts, left: left(machine, parts) }))).toEqual(
      kinds.map(parts => ({ ...parts, left: [] })),
    )
  })

  it('the file is as large as that of a clock that was right', async () => {
    const bytes = async (offMs: number) => (await lived(offMs, 'at the start')).map(([, machine]) => machine.bytes)
    const right = await bytes(0)
    for (const offMs of [-50 * 365 * dayMs, 30 * dayMs]) {
      for (const [index, size] of (await bytes(offMs)).entries())
        expect(size).toBeLessThan((right[index] ?? 0) + 65_536)
    }
  })
})
