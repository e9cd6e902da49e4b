import { describe, expect, it } from 'vitest'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { Hex } from '../../../src/model/block.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { type ArchiveTraits, archive, valueAt } from '../support/archive.ts'
import type { Behaviour } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const good: Hex = '0x00000000000000000000000000000000000000c0'
const slow: Hex = '0x00000000000000000000000000000000510510f5'
const read = (to: Hex, input: Hex): ReadRequest => ({ kind: 'call', to, input })
const inputs: readonly Hex[] = ['0x02', '0x03', '0x05', '0x07', '0x0b', '0x0d', '0x11', '0x13', '0x17']

/** A clock whose time-outs come once nothing else is on its way; what was waited for is counted. */
class Waits {
  readonly #open: { readonly ms: number; readonly abort: AbortController }[] = []
  #idleTurns: number | undefined
  underWay = 0
  waitedMs = 0

  readonly time = {
    ...systemTime,
    sleep: async () => {},
    timeout: (ms: number) => {
      const abort = new AbortController()
      this.#open.push({ ms, abort })
      return abort.signal
    },
  }

  /** Called when a request is not going to be answered. */
  expire(): void {
    if (this.#idleTurns === undefined) setImmediate(() => this.#turn())
    this.#idleTurns = 0
  }

  #turn(): void {
    this.#idleTurns = this.underWay === 0 ? (this.#idleTurns ?? 0) + 1 : 0
    if (this.#idleTurns < 100) return void setImmediate(() => this.#turn())
    this.#idleTurns = undefined
    const expiring = this.#open.splice(0)
    // Requests that were answered have left theirs behind; the shortest is of one that was not.
    this.waitedMs += Math.min(...expiring.map(({ ms }) => ms))
    for (const { abort } of expiring) abort.abort()
  }
}

/** Never answers a request that names the slow address. */
function sleepy(waits: Waits, traits: ArchiveTraits = {}): Behaviour {
  const quick = archive(chain, traits)
  return async (calls, response, body) => {
    if (body.includes(slow.slice(2))) return waits.expire()
    waits.underWay++
    await quick(calls, response, body)
    waits.underWay--
  }
}

const valuesAt = (number: bigint) => inputs.map(input => ({ kind: 'returned', output: valueAt(input, number) }))

describe.each([
  ['with Multicall3', {}],
  ['without Multicall3', { multicallFrom: 9_999n }],
  ['by number', { takesHashes: false }],
])('a read that takes the node too long (%s)', (_, traits: ArchiveTraits) => {
  it('fails alone, and lets the others have their values in time, hour after hour', async () => {
    const waits = new Waits()
    const server = await node(sleepy(waits, traits))
    const reader = openChain([server.url], { time: waits.time })
    for (const count of [0, 1]) {
      const hour = hourAfter(firstHour, count)
      const before = waits.waitedMs
      const failing = reader.read(hour, [read(slow, '0x01')], patient).catch((error: unknown) => error)
      const mates = await Promise.all(inputs.map(input => reader.read(hour, [read(good, input)], patient)))
      // Well within a collector's deadline.
      expect(waits.waitedMs - before).toBeLessThanOrEqual(30_000)
      expect(mates.map(({ value }) => value[0])).toEqual(valuesAt(233n + 300n * BigInt(count)))
      const fault = await faultOf(Promise.reject(await failing))
      expect(fault.code).toBe('chain-call-failed')
      expect(fault.message).toContain('did not answer within 15 s')
      expect(fault.fix).toContain('takes the node too long')
      expect(reader.health()).toMatchObject([{ state: 'well' }])
    }
  })

  it('is asked of the next endpoint, which may be quicker, while the others have their values', async () => {
    const waits = new Waits()
    const [first, second] = [await node(sleepy(waits, traits)), await node(archive(chain, traits))]
    const reader = openChain([first.url, second.url], { time: waits.time })
    const found = reader.read(firstHour, [read(slow, '0x01')], patient)
    const mates = await Promise.all(inputs.map(input => reader.read(firstHour, [read(good, input)], patient)))
    expect(mates.map(({ value }) => value[0])).toEqual(valuesAt(233n))
    expect((await found).value).toEqual([{ kind: 'returned', output: valueAt('0x01', 233n) }])
    expect(reader.health()).toMatchObject([{ state: 'well' }, { state: 'well' }])
  })
})

it('a node that answers nothing at all costs one time-out and one cheap question', async () => {
  const waits = new Waits()
  let isDead = false
  const quick = archive(chain)
  const dying = await node((calls, response, body) => (isDead ? waits.expire() : quick(calls, response, body)))
  const second = await node(archive(chain))
  const reader = openChain([dying.url, second.url], { time: waits.time })
  await reader.block(firstHour, patient)
  isDead = true
  const { value } = await reader.read(firstHour, [read(good, '0x02'), read(good, '0x03')], patient)
  expect(value).toEqual(valuesAt(233n).slice(0, 2))
  expect(waits.waitedMs).toBe(20_000)
  expect(reader.health()).toMatchObject([{ state: 'resting' }, { state: 'well' }])
})
