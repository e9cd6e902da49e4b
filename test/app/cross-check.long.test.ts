import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Anvil } from '../../src/devchain/anvil.ts'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { command } from '../support/command.ts'
import { type FaultyRpc, startFaultyRpc } from '../support/faulty-rpc.ts'
import { configured } from '../support/tidegauge.ts'

const account = `0x${'ab'.repeat(20)}`
const ether = 10n ** 18n
const hex = (count: number | bigint) => `0x${count.toString(16)}`

let anvil: Anvil
let first: FaultyRpc
let second: FaultyRpc

/** 100 ETH until an hour ago, then `after`; the last block lies past the current hour. */
async function chain(after: bigint): Promise<void> {
  const current = hourAt(systemTime.nowMs())
  anvil = await Anvil.start((current - 3 * hourMs) / 1_000)
  await anvil.rpc('anvil_setBalance', account, hex(100n * ether))
  await anvil.rpc('anvil_mine', hex(130), hex(60))
  await anvil.rpc('anvil_setBalance', account, hex(after))
  await anvil.rpc('anvil_mine', hex(51), hex(60))
  first = await startFaultyRpc(anvil.url, '/v2/key-of-the-first')
  second = await startFaultyRpc(anvil.url, '/v2/key-of-the-second')
}

async function ended(): Promise<void> {
  await Promise.all([first.stop(), second.stop()])
  await anvil.stop()
}

/** The hour before is delivered; then the current one is collected while the first endpoint says `lie`, if it does. */
async function collected(lie?: bigint, more = '', how: readonly string[] = ['--catch-up']) {
  const { config } = configured(
    `service: embedded
status: { listen: "127.0.0.1:0" }
chains: { local: { id: 31337, rpc: ["${first.url}", "${second.url}"]${more} } }
protocols:
  - id: pool
    name: Pool
    collectors:
      - use: ./balance.js
`,
    { 'balance.js': collector },
  )
  const run = (...args: string[]) => command([...args, '--config', config])
  const before = hourText(hourAfter(hourAt(systemTime.nowMs()), -1))
  await run('backfill', '--from', before, '--to', before)
  if (lie !== undefined) first.misbehave({ kind: 'balance', wei: lie })
  const end = await run('collect', ...how, '--json')
  const status = JSON.parse((await run('status', '--json')).stdout)
  first.misbehave()
  second.misbehave()
  return { end, value: status.protocols[0].metrics[0].value, balance: status.balance }
}

const collector = `import { defineCollector, units, z } from 'tidegauge'
export default defineCollector({
  options: z.strictObject({}), metrics: { Balance: { maxJump: '10%' } }, history: true,
  collect: async ({ chain }) => ({ Balance: units(await chain('local').balance('${account}'), 18) }),
})
`

describe('a value that jumps', () => {
  describe('on a chain where nothing happened', () => {
    beforeAll(() => chain(100n * ether), 60_000)
    afterAll(ended)

    it('is read again from the other host, and the one that is wrong is asked no more', async () => {
      const { value, balance, end } = await collected(500n * ether)
      expect({ value, held: balance.held, due: balance.due }).toEqual({ value: 100, held: 0, due: 0 })
      expect(end.stderr).toMatch(/endpoint in quarantine: another host answers otherwise/)
      expect(end.code).toBe(0)
    })

    it('is read again by a collection of one hour, too', async () => {
      const { value, balance, end } = await collected(500n * ether, '', [])
      expect({ value, held: balance.held, due: balance.due }).toEqual({ value: 100, held: 0, due: 0 })
      expect(end.stderr).toMatch(/endpoint in quarantine/)
      expect(end.code).toBe(0)
    })

    it('is held where no other host answers, and that one is named', async () => {
      second.misbehave({ kind: 'rate' })
      const { balance, end } = await collected(500n * ether)
      expect(balance.held).toBe(1)
      expect(end.stderr).not.toMatch(/quarantine/)
    })
  })

  describe('on a chain where it happened', () => {
    beforeAll(() => chain(300n * ether), 60_000)
    afterAll(ended)

    it('is confirmed by the other host, and sent', async () => {
      const { value, balance, end } = await collected()
      expect({ value, held: balance.held, due: balance.due }).toEqual({ value: 300, held: 0, due: 0 })
      expect(end.stderr).toMatch(/a jump is confirmed by an endpoint of another host/)
    })

    it('is confirmed in a collection of one hour, too', async () => {
      const { value, balance } = await collected(undefined, '', [])
      expect({ value, held: balance.held }).toEqual({ value: 300, held: 0 })
    })
  })
})

describe('where two hosts must agree', () => {
  beforeAll(() => chain(100n * ether), 60_000)
  afterAll(ended)
  beforeEach(() => {
    for (const node of [first, second]) {
      node.misbehave()
      node.reset()
    }
  })

  const hour = (back: number) => hourText(hourAfter(hourAt(systemTime.nowMs()), -back))
  const lie = { kind: 'balance', wei: 101n * ether } as const

  function place(rpc = [first.url, second.url], agree = 2) {
    const { config } = configured(
      `service: embedded
status: { listen: "127.0.0.1:0" }
chains: { local: { id: 31337, settle: 0s, rpc: ${JSON.stringify(rpc)}${agree > 1 ? `, agree: ${agree}` : ''} } }
protocols: [{ id: pool, name: Pool, collectors: [{ use: ./balance.js }] }]
`,
      { 'balance.js': collector },
    )
    const run = (...args: string[]) => command([...args, '--config', config])
    const delivered = async () => JSON.parse((await run('status', '--json')).stdout).balance.delivered
    return { run, delivered, folder: dirname(config) }
  }

  it.each([
    ['collect', ['collect', '--hour']],
    ['a dry run', ['collect', '--dry-run', '--hour']],
    ['backfill', ['backfill', '--json', '--from']],
  ])('%s sends nothing that one of them contradicts, and names both', async (_, command) => {
    first.misbehave(lie)
    const { run, delivered } = place()
    const to = command[0] === 'backfill' ? ['--to', hour(1)] : []
    const end = await run(...command, hour(1), ...to)
    const both = `endpoints of different hosts disagree about Balance: ${first.host} gives 101, ${second.host} gives 100`
    expect(end.code).toBe(1)
    expect(end.stdout).toContain(both)
    expect(end.stdout + end.stderr).not.toMatch(/quarantine|key-of-the/)
    if (command.includes('--dry-run')) return
    expect(await delivered()).toBe(0)
    const explained = await run('explain', 'pool___Balance', hour(1))
    expect(explained.stdout).toMatch(
      /no value, (the hour is not collected yet|a backfill could not read the hour)\n[\s\S]*why not +Balance: endpoints of/,
    )
    expect(explained.stdout).toContain(both)
  })

  it('one that limits its rate has no opinion: the hour stays due, and no node is blamed', async () => {
    second.misbehave({ kind: 'rate' })
    const { run, delivered } = place()
    const end = await run('collect', '--hour', hour(1))
    expect(end.stdout).toContain(
      `2 hosts must agree, and not as many endpoints answer: local: ${second.host} answered HTTP 429`,
    )
    expect(end.stdout + end.stderr).not.toMatch(/quarantine|disagree|held/)
    second.misbehave()
    expect((await run('collect', '--hour', hour(1))).code).toBe(0)
    expect(await delivered()).toBe(1)
  })

  it('diff reads so, too', async () => {
    const { run, folder } = place()
    expect((await run('backfill', '--from', hour(2), '--to', hour(1))).code).toBe(0)
    first.misbehave(lie)
    const both = `${first.host} gives 101, ${second.host} gives 100`
    const drift = await run('diff', '--sample', '50', '--json')
    expect(JSON.parse(drift.stdout)).toMatchObject({
      compared: 0,
      notRead: [{}, { reason: expect.stringContaining(both) }],
    })
    const diff = await run('diff', '--collector', join(folder, 'balance.js'), '--json')
    const [change] = JSON.parse(diff.stdout).changes
    expect(change).toMatchObject({ stored: 100, reason: expect.stringContaining(both) })
  })

  it('of three the one that lies stops nothing', async () => {
    const third = await startFaultyRpc(anvil.url)
    onTestFinished(() => third.stop())
    first.misbehave(lie)
    const { run, delivered } = place([first.url, second.url, third.url])
    const end = await run('backfill', '--from', hour(2), '--to', hour(1))
    expect(end.code).toBe(0)
    expect(end.stderr).toContain(`"endpoint":"${first.host}"`)
    expect(end.stderr).toMatch(/endpoint in quarantine/)
    expect(await delivered()).toBe(2)
  })

  it('a backfill reads both together, and without agree the second not at all', async () => {
    const range = ['backfill', '--from', hour(2), '--to', hour(0)]
    expect((await place().run(...range)).code).toBe(0)
    expect(second.requests).toBeGreaterThan(0)
    expect(second.requests).toBeLessThanOrEqual(first.requests + 1)
    const together = first.requests
    first.reset()
    second.reset()
    expect((await place([first.url, second.url], 1).run(...range)).code).toBe(0)
    expect(second.requests).toBe(0)
    expect(together).toBeLessThanOrEqual(first.requests + 1)
  })

  it('a jump in a backfill is asked of the other host', async () => {
    const { run, delivered } = place([first.url, second.url], 1)
    expect((await run('backfill', '--from', hour(2), '--to', hour(2))).code).toBe(0)
    first.misbehave({ kind: 'balance', wei: 500n * ether })
    const { stdout } = await run('explain', 'pool___Balance', hour(1))
    expect(stdout).toMatch(
      /read again now: 100 → tidegauge backfill .*\n\S+ is contradicted: endpoints of different hosts disagree about Balance/,
    )
    const end = await run('backfill', '--from', hour(1), '--to', hour(0))
    expect(end.stderr).toContain(`${first.host} gives 500, ${second.host} gives 100`)
    expect(await delivered()).toBe(3)
  })
})
