import { expect, it } from 'vitest'
import { dice } from '../../../src/devchain/dice.ts'
import type { FaultRecord } from '../../../src/model/fault.ts'
import { metricId } from '../../../src/model/metric.ts'
import { page } from '../../../src/status/page/page.ts'
import type { Snapshot, WeekRow } from '../../../src/status/snapshot.ts'
import { emptySnapshot, lastHour, richSnapshot, weekRow } from '../../support/snapshot.ts'

const bytesMax = 150_000

function idsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `p${index}`)
}

function snapshotOf(count: number): Snapshot {
  const ids = idsOf(count)
  const odd = { at: 3, hours: 165, state: 'held' as const, reason: 'odd' }
  return {
    ...emptySnapshot,
    protocols: ids.map(id => ({ id, name: `Protocol ${id}.`, metrics: [] })),
    week: { ...emptySnapshot.week, rows: ids.map(id => weekRow(id, 'c', id === 'p999' ? [odd] : [])) },
  }
}

/** Collectors with two metrics each, which all vary, and with a week in which something went wrong for each. */
function busySnapshot(
  count: number,
  row: (id: string, index: number) => WeekRow,
  labels: readonly string[] = ['TotalValue', 'Utilisation'],
): Snapshot {
  const { roll } = dice(4)
  const metric = (id: string, label: string) => {
    const curve = Array.from({ length: 48 }, () => 1_000_000 * (1 + roll()))
    const [value, before, dayBefore] = [curve[47] ?? 0, curve[46] ?? 0, curve[23] ?? 0]
    const changes = { change1h: value - before, change24h: value - dayBefore }
    return { id: metricId(id, label), label, unit: 'USDC', value, hour: lastHour, curve, ...changes }
  }
  const ids = idsOf(count)
  return {
    ...richSnapshot,
    protocols: ids.map(id => ({
      id,
      name: `The protocol ${id}`,
      readAtMs: richSnapshot.nowMs,
      metrics: labels.map(label => metric(id, label)),
    })),
    week: { ...richSnapshot.week, rows: ids.map(row) },
  }
}

const fault: FaultRecord = {
  code: 'http-unreachable',
  message: `${'a-long-name-of-a-host.'.repeat(6)}example.com does not answer, and has not for a long time by now`,
  facts: { status: 503, attempts: 3 },
  fix: 'nothing to do while it passes; else look at the source',
}

const bytesOf = (text: string) => Buffer.byteLength(text)

it('the page of 1,000 collectors shows a part of them, troubled ones first, and counts the rest', () => {
  const text = page(snapshotOf(1_000))
  expect(text).toContain('<span class="own-id">c</span> <span class="of">p999</span>')
  expect(text).toContain('Protocol p999.')
  expect(text.match(/role="rowheader"/g)).toHaveLength(100)
  expect(text).toContain('and 900 more collectors')
  expect(text).toContain('and 900 more protocols')
})

/** The page of 20 protocols with 50 collectors each, of which some had a trouble. */
function foldedPage(troubled: readonly string[]): string {
  const rows = idsOf(20).flatMap(id =>
    Array.from({ length: 50 }, (_, index) =>
      weekRow(id, `c${index}`, troubled.includes(`${id}/c${index}`) ? [{ at: 3, hours: 2, state: 'gap', fault }] : []),
    ),
  )
  return page({ ...emptySnapshot, week: { ...emptySnapshot.week, rows } })
}

it('the page of 1,000 collectors in 20 protocols has a line for each protocol, and the troubled ones are open', () => {
  const text = foldedPage(['p7/c49', 'p7/c3', 'p12/c40'])
  const folds = [...text.matchAll(/<details class="fold" id="\w+-(\w+)"( open)?>/g)]
  expect(folds.map(([, id, open]) => `${id}${open ?? ''}`).slice(0, 4)).toEqual(['p7 open', 'p12 open', 'p0', 'p1'])
  expect([folds.length, folds.filter(([, , open]) => open).length]).toEqual([20, 2])
  expect(text).toMatch(
    /<b>p7<\/b> <span class="quiet">50 collectors<\/span> <span class="in-trouble">2 with a trouble</,
  )
  expect(text.match(/role="rowheader"/g)).toHaveLength(100)
  expect(text.match(/class="own-id">c49</g)).toHaveLength(1)
  expect(text.match(/class="own-id">c0</g), 'some of each protocol').toHaveLength(20)
  expect(text).toContain('and 900 more collectors')
  expect(bytesOf(text)).toBeLessThan(bytesMax)
})

it('the page shows all of a hundred collectors', () => {
  const text = page(snapshotOf(100))
  expect(text.match(/role="rowheader"/g)).toHaveLength(100)
  expect(text).not.toContain(' more collectors')
  expect(text, 'one for each protocol: nothing to fold').not.toContain('class="fold"')
})

it('the page of 50 collectors, each with troubles and two metrics that vary, stays below 150 KB', () => {
  const text = page(
    busySnapshot(50, (id, index) =>
      weekRow(id, 'a-collector', [
        { at: index, hours: 3, state: 'gap', attempts: 4, fault },
        { at: 100, hours: 1, state: 'dead', reason: 'the service refused the metric' },
        { at: 167, hours: 1, state: 'collected' },
      ]),
    ),
  )
  expect(bytesOf(text)).toBeLessThan(bytesMax)
  expect(text.match(/role="rowheader"[^>]*><span class="own-id">/g)).toHaveLength(50)
  expect(text.match(/<td class="mini"/g)).toHaveLength(100)
  for (const id of idsOf(50)) expect(text).toContain(`/history/${id}___Utilisation`)
})

it('the page of 50 collectors whose every hour differs from the one before stays below 150 KB', () => {
  const text = page(
    busySnapshot(50, id =>
      weekRow(
        id,
        'a-collector',
        Array.from({ length: 84 }, (_, index) => ({ at: 2 * index, hours: 1, state: 'gap', attempts: 9, fault })),
      ),
    ),
  )
  expect(bytesOf(text)).toBeLessThan(bytesMax)
})

it('the page of 50 collectors with 20 metrics each stays below 150 KB, and counts those that it leaves out', () => {
  const labels = Array.from({ length: 20 }, (_, index) => `Label${index}`)
  const text = page(busySnapshot(50, id => weekRow(id, 'c', [{ at: 5, hours: 9, state: 'gap', fault }]), labels))
  expect(bytesOf(text)).toBeLessThan(bytesMax)
  expect(text).toContain('and 900 more metrics')
  // Of the first five protocols; the others have no heading without a row.
  expect(text.match(/scope="rowgroup"/g)).toHaveLength(5)
})
