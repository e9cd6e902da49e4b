import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createChainReader, type OpenChainReader } from '../../../src/chain/read/reader.ts'
import { Anvil } from '../../../src/devchain/anvil.ts'
import type { Hex } from '../../../src/model/block.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAt } from '../../../src/model/hour.ts'
import { type FaultyRpc, type RpcFault, startFaultyRpc } from '../../support/faulty-rpc.ts'
import { VirtualTime } from '../../support/virtual-time.ts'

const key = 'k3y-0f-the-provider-4711'
const genesisSeconds = 1_700_000_000
const never = new AbortController().signal
const hourOf = (index: number): Hour => hourAt(1_700_002_800_000 + index * 3_600_000)
const account: Hex = `0x${'ab'.repeat(20)}`
/** Of the latest block: the last hour's. */
const hours = 10

let anvil: Anvil
let first: FaultyRpc
let second: FaultyRpc
let truth: { number: bigint; balance: Hex }[]

/** 60 blocks an hour, and another balance in each hour. */
beforeAll(async () => {
  anvil = await Anvil.start(genesisSeconds)
  truth = []
  for (let hour = 0; hour < hours; hour++) {
    await anvil.rpc('anvil_setBalance', account, `0x${(1000 + hour).toString(16)}`)
    await anvil.rpc('anvil_mine', '0x3c', '0x3c')
  }
  first = await startFaultyRpc(anvil.url, `/v2/${key}`)
  second = await startFaultyRpc(anvil.url)
  const time = new VirtualTime(Date.now())
  const plain = createChainReader({ name: 'anvil', id: 31_337, endpoints: [anvil.url], time })
  for (let hour = 0; hour < hours - 1; hour++) truth.push(await seen(plain, hour))
  plain.close()
})

afterAll(async () => {
  await first.stop()
  await second.stop()
  await anvil.stop()
})

async function seen(reader: OpenChainReader, hour: number): Promise<{ number: bigint; balance: Hex }> {
  const { at, value } = await reader.read(hourOf(hour), [{ kind: 'balance', address: account }], never)
  const [answer] = value
  if (answer?.kind !== 'returned') throw new Error('no balance')
  return { number: at.number, balance: answer.output }
}

function open(endpoints: readonly string[], reported: string[] = []): OpenChainReader {
  first.misbehave()
  second.misbehave()
  first.reset()
  second.reset()
  const passedOver = (host: string, reason: string) => void reported.push(`${host} ${reason}`)
  const reader = createChainReader({
    name: 'anvil',
    id: 31_337,
    endpoints,
    time: new VirtualTime(Date.now()),
    passedOver,
  })
  onTestFinished(() => reader.close())
  return reader
}

const all = Array.from({ length: hours - 1 }, (_, hour) => hour)

it('the truth differs from hour to hour', () => {
  expect(new Set(truth.map(({ balance }) => balance)).size).toBe(hours - 1)
})

const faults: readonly RpcFault[] = [
  { kind: 'rate', retryAfter: '2' },
  { kind: 'rate', retryAfter: () => new Date(Date.now() + 2_000).toUTCString() },
  { kind: 'error', code: -32005, message: 'limit exceeded' },
  { kind: 'error', code: -32603, message: `internal error of https://x.example/${key}` },
  { kind: 'status', status: 502, text: `<html>${key}</html>` },
  { kind: 'status', status: 401, text: key },
  { kind: 'status', status: 302, location: 'http://127.0.0.1:1/' },
  { kind: 'html' },
  { kind: 'garbage' },
  { kind: 'reset' },
  { kind: 'no-ids' },
  { kind: 'null-results' },
  { kind: 'null-blocks' },
  { kind: 'chain-id', id: 1 },
  { kind: 'lagging', blocks: 599 },
  { kind: 'no-state', before: 10_000n },
  { kind: 'no-state', before: 10_000n, message: 'header not found' },
  { kind: 'batch-max', calls: 1, how: 'object' },
  { kind: 'batch-max', calls: 2, how: '413' },
  { kind: 'drops', answers: 1 },
]

describe('before a real node', () => {
  it.each(faults)('%o: the second endpoint gives the same values, and no secret is repeated', async fault => {
    const reported: string[] = []
    const reader = open([first.url, second.url], reported)
    first.misbehave(fault)
    const values = await Promise.all(all.map(hour => seen(reader, hour)))
    expect(values).toEqual(truth)
    expect(inspect([reported, reader.health()], { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain(
      key,
    )
  })

  it.each(faults)('%o on both: a fault that names hosts alone, or the same values', async fault => {
    const reader = open([first.url, second.url])
    first.misbehave(fault)
    second.misbehave(fault)
    const outcomes = await Promise.all(all.map(hour => seen(reader, hour).catch((error: unknown) => error)))
    outcomes.forEach((outcome, hour) => {
      if (!(outcome instanceof Fault)) {
        expect(outcome).toEqual(truth[hour])
        return
      }
      expect(outcome.message).toContain(first.host)
      for (const shown of [inspect(outcome, { depth: Number.POSITIVE_INFINITY, showHidden: true }), outcome.stack]) {
        expect(shown).not.toContain(key)
      }
    })
  })

  it('a node that keeps little state serves the new hours, an archive the old ones, and it is not asked in vain again', async () => {
    const reader = open([first.url, second.url])
    first.misbehave({ kind: 'no-state', before: truth[5]?.number ?? 0n })
    const newestFirst = all.toReversed()
    for (const hour of newestFirst.slice(0, 5)) expect(await seen(reader, hour)).toEqual(truth[hour])
    expect(reader.health()).toMatchObject([{ state: 'well', head: { number: 600n } }, { state: 'well' }])
    const asked = stateCalls(first)
    expect(asked).toBeGreaterThan(0)
    for (const hour of newestFirst.slice(5)) expect(await seen(reader, hour)).toEqual(truth[hour])
    expect(stateCalls(first)).toBe(asked)
  })

  it('all hours at once are few requests', async () => {
    const reader = open([first.url])
    expect(await Promise.all(all.map(hour => seen(reader, hour)))).toEqual(truth)
    expect(first.requests).toBeLessThan(30)
  })
})

const stateCalls = ({ calls }: FaultyRpc) => (calls['eth_call'] ?? 0) + (calls['eth_getBalance'] ?? 0)
