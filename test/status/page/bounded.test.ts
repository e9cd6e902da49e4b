import { expect, it } from 'vitest'
import { page } from '../../../src/status/page/page.ts'
import { emptySnapshot } from '../../support/snapshot.ts'

const { hours } = emptySnapshot.hours

function snapshotOf(count: number) {
  const ids = Array.from({ length: count }, (_, index) => `p${index}`)
  const cells = hours.map(() => ({ state: 'delivered', attempts: 1 }) as const)
  const odd = hours.map(() => ({ state: 'held', attempts: 1 }) as const)
  const rows = ids.map(id => ({ collector: `${id}/c`, protocolId: id, cells: id === 'p999' ? odd : cells }))
  return {
    ...emptySnapshot,
    protocols: ids.map(id => ({ id, name: `Protocol ${id}.`, metrics: [] })),
    hours: { hours, rows },
  }
}

it('the page of 1,000 collectors shows a part of them, troubled ones first, and counts the rest', () => {
  const text = page(snapshotOf(1_000))
  expect(text).toContain('title="p999/c"')
  expect(text).toContain('Protocol p999.')
  expect(text.match(/role="rowheader"/g)).toHaveLength(100)
  expect(text).toContain('and 900 more collectors')
  expect(text).toContain('and 900 more protocols')
  expect(text.length).toBeLessThan(2_000_000)
})

it('the page shows all of a hundred collectors', () => {
  const text = page(snapshotOf(100))
  expect(text.match(/role="rowheader"/g)).toHaveLength(100)
  expect(text).not.toContain(' more collectors')
})
