import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemTime } from '../../src/edge/time.ts'
import { hourAfter, hourAt, hourText } from '../../src/model/hour.ts'
import { hourMs } from '../../src/model/limits.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
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
  anvil = await startAnvil((current - 3 * hourMs) / 1_000)
  await anvil.rpc('anvil_setBalance', account, hex(100n * ether))
  await anvil.rpc('anvil_mine', hex(130), hex(60))
  await anvil.rpc('anvil_setBalance', account, hex(after))
  await anvil.rpc('anvil_mine', hex(51), hex(60))
  first = await startFaultyRpc(anvil.url)
  second = await startFaultyRpc(anvil.url)
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

    it('is not believed where two hosts must agree, even without a jump', async () => {
      const { value, end } = await collected(101n * ether, ', agree: 2')
      expect(value).toBe(100)
      expect(end.stderr).toMatch(/endpoint in quarantine/)
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
