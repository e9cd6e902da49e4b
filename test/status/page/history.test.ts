import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { metricId } from '../../../src/model/metric.ts'
import { type HistoryHour, historyCsv, type MetricHistory } from '../../../src/status/history.ts'
import { historyPage } from '../../../src/status/page/history.ts'
import { lastHour, nowMs } from '../../support/snapshot.ts'

const special: Readonly<Record<number, Omit<HistoryHour, 'hour'>>> = {
  716: { state: 'held', value: 99, unit: 'USDC', reason: '=SUM(A1), "odd"' },
  715: { state: 'due', value: 6, collectedMs: lastHour - 14 * hourMs, earlier: [{ value: 5, untilMs: nowMs }] },
  717: { state: 'gap', reason: 'no node answers <b>' },
  718: { state: 'dropped', value: -1 },
  719: { state: 'due' },
}

function historyOf(count: number): MetricHistory {
  const hours = Array.from({ length: count }, (_, index): HistoryHour => {
    const at = index + 720 - count
    const hour = hourAfter(lastHour, at - 719)
    const [collectedMs, deliveredMs] = [hour + 4_000, hour + 5_678]
    const delivered = { value: 1_000.123456789 + at, unit: 'USDC', collectedMs, deliveredMs }
    return { hour, ...(special[at] ?? { state: 'delivered', ...delivered }) }
  })
  const id = metricId('vault', '"><img src=x>')
  return { id, label: '"><img src=x>', protocolId: 'vault', collector: 'vault/c', unit: 'USDC', nowMs, hours }
}

describe('the page of a history', () => {
  const text = historyPage(historyOf(720))

  it('has a curve, a table for each day, and every digit; it stays below 150 KB, without script', () => {
    expect(text.match(/<details/g)).toHaveLength(31)
    expect(text.match(/<details[^>]* open>/g)).toHaveLength(1)
    expect(text).toContain('<td>1714.123456789</td>')
    expect(text).toContain(
      'aria-label="Curve of &quot;&gt;&lt;img src=x&gt; over the last 720 hours: 716 values, low 6',
    )
    expect(Buffer.byteLength(text)).toBeLessThan(150_000)
    expect(text).not.toContain('<script')
  })

  it('says of each hour what is known, and escapes it', () => {
    expect(text).toContain('due, 5 until 13:04:05</td><td>2026-11-19 23:00:00</td><td>–</td>')
    expect(text).toContain('>delivered</td><td>08:00:04</td><td>08:00:05</td>')
    expect(text).toContain('gap, can no longer be read: no node answers &lt;b&gt;')
    expect(text).toContain('held until something is changed: =SUM(A1), &quot;odd&quot;')
    expect(text).toContain('715 delivered, 2 due, 1 held, 1 gap, 1 dropped')
    expect(text).toContain(`href="/history/vault___%22%3E%3Cimg%20src%3Dx%3E?csv"`)
  })
})

it('the CSV has a line an hour, the oldest first, quoted, and no formula', () => {
  expect(historyCsv(historyOf(6)).split('\r\n')).toEqual([
    'hour,value,unit,state,collected,delivered,corrected,before,reason',
    '2026-11-20T08:00:00Z,1714.123456789,USDC,delivered,2026-11-20T08:00:04.000Z,2026-11-20T08:00:05.678Z,,,',
    '2026-11-20T09:00:00Z,6,,due,2026-11-19T23:00:00.000Z,,2026-11-20T13:04:05.250Z,5,',
    `2026-11-20T10:00:00Z,99,USDC,held,,,,,"'=SUM(A1), ""odd"""`,
    '2026-11-20T11:00:00Z,,,gap,,,,,no node answers <b>',
    '2026-11-20T12:00:00Z,-1,,dropped,,,,,',
    '2026-11-20T13:00:00Z,,,due,,,,,',
    '',
  ])
})
