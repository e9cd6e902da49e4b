import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { troublesOf } from '../../../src/status/page/hours.ts'
import { liveScript } from '../../../src/status/page/live-script.ts'
import { page } from '../../../src/status/page/page.ts'
import { initialsOf } from '../../../src/status/page/protocols.ts'
import type { EndpointState } from '../../../src/status/snapshot.ts'
import { emptySnapshot, lastHour, richSnapshot, weekRow } from '../../support/snapshot.ts'

const rich = page(richSnapshot)

describe('the page', () => {
  it('shows each metric with its value, its unit and both changes, and every digit in a title', () => {
    const tvl = richSnapshot.protocols[0]?.metrics[0]
    expect(tvl?.change1h).toBeDefined()
    expect(rich).toContain(`title="${tvl?.value} USDC"><data value="${tvl?.value}">12,465,977</data>`)
    expect(rich).toContain(`title="${tvl?.change1h} USDC over 1 hour"`)
    expect(rich).toContain(`title="${tvl?.change24h} USDC over 24 hours"`)
  })

  it('says why the daemon is not ready, and why delivery waits', () => {
    for (const reason of richSnapshot.ready.reasons) expect(rich).toContain(`<li>${reason}`)
    expect(rich).toContain(richSnapshot.service.waiting)
    expect(page(emptySnapshot)).not.toContain('Not ready')
  })

  it('has a card for a collector without a value, with why and what to do', () => {
    const [one] = richSnapshot.protocols
    const why = { reason: 'no number at /total, but "n/a"', fix: 'compare the pointer' }
    const withoutValue = [
      { collector: `${one?.id}/api`, ...why },
      { collector: `${one?.id}/new`, reason: 'None of its hours is due yet.' },
    ]
    const text = page({ ...richSnapshot, protocols: [{ ...one, metrics: [], withoutValue }] as never })
    const cards = text.match(/<li class="widget">.*?<\/li>/gs) ?? []
    expect(cards).toHaveLength(2)
    expect(cards[0]).toMatch(
      /<h4>api<\/h4>.*no value yet.*no number at \/total, but &quot;n\/a&quot;.*compare the pointer/s,
    )
    expect(cards[1]).toMatch(/<h4>new<\/h4>.*None of its hours is due yet\./s)
    expect(text).not.toContain('No metric yet')
    const many = Array.from({ length: 2_000 }, (_, index) => ({ collector: `p/c${index}`, reason: 'x'.repeat(900) }))
    const rows = page({ ...richSnapshot, protocols: [{ ...one, metrics: [], withoutValue: many }] as never })
    expect(rows.match(/no value yet: x{160}…/g), 'a row each where they are many, up to a number').toHaveLength(100)
  })

  it('puts small protocols side by side, and the label of a day at its midnight where the week is one line', () => {
    const [one] = richSnapshot.protocols
    const sizes = [1, 2, 3].map(count => ({ ...one, id: `p${count}`, metrics: one?.metrics.slice(0, count) ?? [] }))
    const text = page({ ...richSnapshot, protocols: sizes as typeof richSnapshot.protocols })
    expect(text.match(/<article class="protocol[^"]*"/g)?.map(found => found.slice(16, -1))).toEqual([
      'protocol one',
      'protocol two',
      'protocol',
    ])
    const labels = [...text.matchAll(/<text( class="[^"]*")? x="([\d.]+)%" y="11">([^<]*)/g)]
    expect(
      labels.filter(([, look]) => look !== undefined).map(([, look, x, day]) => [look, x, day?.slice(0, 2)]),
    ).toEqual([
      [' class="on-one-line"', '97.62', '17'],
      [' class="on-two-lines"', '0', '17'],
    ])
  })

  it('shows a receiver of alerts that takes none, and how to try it', () => {
    const reports = [
      { receiver: 'webhook GOOD', accepted: 2, refused: 0 },
      { receiver: 'slack BAD', accepted: 0, refused: 9, failing: 'it answered 410' },
    ]
    const text = page({ ...richSnapshot, reports })
    expect(text).toContain('webhook GOOD: 2 reports accepted, 0 refused')
    expect(text).toMatch(/slack BAD: .*takes no report: it answered 410.*notify test/)
  })

  it('has the reasons first, then what waits for a decision', () => {
    const text = page({
      ...richSnapshot,
      ready: { ok: false, reasons: ['The disk is full.'], warnings: ['one is held'] },
    })
    const [box = ''] = text.match(/<div class="reasons">.*?<\/div>/s) ?? []
    expect(box.match(/<li>.*?<\/li>/gs)).toEqual(['<li>The disk is full.</li>'])
    expect(text.indexOf('class="decide"')).toBeGreaterThan(text.indexOf('class="reasons"'))
  })

  it('says nothing to do about the faults of a collector that was removed', () => {
    const { week } = richSnapshot
    const removed = { ...week, rows: week.rows.map(row => ({ ...row, isRemoved: true as const })) }
    const fixes = (of: typeof week) => troublesOf(of).flatMap(({ shape, fix = [] }) => (shape === 'failing' ? fix : []))
    expect(fixes(week)).not.toEqual([])
    expect(fixes(removed)).toEqual([])
    expect(troublesOf(removed).some(({ shape, fix }) => shape === 'dead' && fix !== undefined)).toBe(true)
  })

  it('says in words how the last push ended', () => {
    const push = (verdict: string) =>
      page({ ...richSnapshot, service: { ...richSnapshot.service, lastPush: { atMs: 0, verdict } } })
    expect(push('transient')).toContain('not accepted, it is tried again, ')
    expect(push('delivered')).toContain('>delivered, ')
  })

  it.each<[state: EndpointState['state'], text: string]>([
    ['unasked', '<td role="cell">not asked yet</td>'],
    ['well', '<td role="cell">well</td>'],
    ['failed', '<td role="cell" class="old">asked last, it did not answer</td>'],
  ])('says of an endpoint that is %s: %s', (state, text) => {
    const trouble = state === 'failed' ? ({ trouble: 'unreachable' } as const) : {}
    expect(page({ ...richSnapshot, endpoints: [{ chain: 'local', host: 'h', state, ...trouble }] })).toContain(text)
  })

  it('shows the daemons of a fleet, which of them are away, and what a person should see to', () => {
    expect(rich).toContain('<h2 id="fleet">Fleet</h2>')
    expect(rich).toMatch(/eu-1<\/th><td role="cell">seen .*just now/)
    expect(rich).toMatch(/&lt;i&gt;eu-2&lt;\/i&gt;<\/th><td role="cell" class="old">away, seen .*12\u00a0min ago/)
    expect(rich).toContain('<li>no living daemon works the lane base</li>')
    for (const difference of richSnapshot.fleet?.differences ?? []) expect(rich).toContain(`<li>${difference}</li>`)
    expect(page(emptySnapshot)).not.toContain('Fleet')
  })

  it('leaves no text of another hand unescaped', () => {
    expect(rich.match(/<script/g)).toHaveLength(1)
    expect(rich).toContain(`<script>${liveScript}</script>`)
    expect(rich).not.toContain('<img')
    expect(rich).not.toContain('<i>twice')
    expect(rich).toContain('&lt;script&gt;document.title=&quot;owned&quot;&lt;/script&gt;')
  })

  it('holds no style attribute, which its policy would refuse, and no address of another host', () => {
    expect(rich).not.toMatch(/\sstyle=/)
    expect(rich).toContain('<link rel="icon" href="data:image/svg+xml,')
    expect(rich.match(/(?:href|src)="(?!#|\/|data:)[^"]*"/g)).toBeNull()
  })

  it('marks a value that another should have followed by now as old', () => {
    expect(rich).toContain('5\u00a0h old')
    expect(rich.match(/ old<\/p>/g)).toHaveLength(1)
  })

  it('says so when the numbers of the outbox do not add up', () => {
    expect(rich).not.toContain('do not add up')
    expect(page({ ...richSnapshot, balance: { ...richSnapshot.balance, enqueued: 12_481 } })).toContain('do not add up')
  })

  it('helps when nothing is configured, collected, pushed or warned of', () => {
    const text = page(emptySnapshot)
    expect(text).toContain('No protocol is configured yet')
    expect(text).toContain('No hour is expected yet')
    expect(text).toContain('none yet')
    expect(text).toContain('Nothing is enqueued yet')
    const week = { ...emptySnapshot.week, rows: [weekRow('a', 'b', [{ at: 0, hours: 168, state: 'unexpected' }])] }
    expect(page({ ...emptySnapshot, week })).toContain('No hour is collected yet')
  })
})

it('troubles are put together by collector, state and reason, the newest first', () => {
  const troubles = troublesOf(richSnapshot.week)
  expect(troubles.map(({ collector, shape, count }) => [collector, shape, count])).toEqual([
    ['awesome-vault/utilisation', 'failing', 5],
    ['tide-dex/gas', 'held', 4],
    ['script/host', 'gap', 3],
    ['tide-dex/uniswap-v2-pool', 'dead', 1],
    ['awesome-vault/erc4626-vault', 'gap', 3],
    ['tide-dex/uniswap-v2-pool', 'gap', 1],
  ])
  expect(troubles[0]).toMatchObject({ first: hourAfter(lastHour, -4), last: lastHour })
  const [gap] = [
    {
      at: 3,
      hours: 2,
      state: 'gap' as const,
      fault: { code: 'collector-threw', message: 'it broke', facts: {} } as const,
    },
  ]
  const parts = [gap, { ...gap, at: 9 }]
  expect(troublesOf({ rows: [weekRow('a', 'b', parts)] })).toMatchObject([
    { count: 4, first: hourAfter(lastHour, -164), last: hourAfter(lastHour, -157), message: 'it broke' },
  ])
})

it.each([
  ['Awesome Vault', 'AV'],
  ['tide', 'T'],
  ['Härd  övernight lab', 'HÖ'],
  ['<script>', 'S'],
  ['𝒯ide 🌊', '𝒯'],
  ['🌊', '·'],
  ['', '·'],
])('the initials of "%s" are %s', (name, initials) => {
  expect(initialsOf(name)).toBe(initials)
})
