import { createPublicClient, erc20Abi, http, parseAbiItem } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChainReader, type OpenChainReader } from '../../src/chain/read/reader.ts'
import { Devchain } from '../../src/devchain/devchain.ts'
import { systemTime } from '../../src/edge/time.ts'
import type { Hour } from '../../src/model/hour.ts'
import { ProcessRunner } from '../../src/runner/daemon/process-runner.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { configured, faultOf, testRunner } from '../runner/setup.ts'

const event = 'Transfer(address indexed from, address indexed to, uint256 value)'
const address = `0x${'11'.repeat(20)}`

describe('event-sum on a chain', () => {
  let scene: Devchain
  let reader: OpenChainReader
  let runner: Runner
  beforeAll(async () => {
    scene = await Devchain.build({ nowMs: systemTime.nowMs(), hours: 4 })
    reader = createChainReader({ name: 'demo', id: scene.chainId, endpoints: [scene.url], time: systemTime })
    runner = new ProcessRunner({ chains: { demo: reader }, deadlineMs: 60_000, time: systemTime, log: () => {} })
  })
  afterAll(async () => {
    await runner?.stop()
    reader?.close()
    await scene?.stop()
  })

  const collected = async (hour: Hour, own: Record<string, unknown>) => {
    const options = { chain: 'demo', address: scene.addresses.dollar, event, label: 'Value', ...own }
    const { readings, failures } = await runner.collect(configured('event-sum', { options }), hour)
    expect(failures).toEqual({})
    return readings['Value']
  }

  /** The transfers of an hour, found by looking at the time of each one's block. */
  async function transfers(hour: Hour, of: readonly ('dollar' | 'tide')[] = ['dollar']) {
    const client = createPublicClient({ transport: http(scene.url) })
    const logs = await client.getLogs({
      address: of.map(name => scene.addresses[name]),
      event: parseAbiItem(`event ${event}`),
      fromBlock: 0n,
    })
    const timed = await Promise.all(
      logs.map(async log => ({ ...log, seconds: (await client.getBlock({ blockNumber: log.blockNumber })).timestamp })),
    )
    const until = BigInt(hour / 1000)
    return timed.flatMap(({ seconds, args }) => (seconds > until - 3_600n && seconds <= until ? [args] : []))
  }

  const sumOf = (logs: readonly { value?: bigint | undefined }[]) =>
    logs.reduce((sum, { value = 0n }) => sum + value, 0n)

  it('gives the sum, the count and the different values of an argument', async () => {
    for (const hour of scene.hours.slice(1)) {
      const logs = await transfers(hour)
      expect(logs.length).toBeGreaterThan(0)
      expect(await collected(hour, { sum: 'value', decimals: true })).toBe(Number(sumOf(logs)) / 1e6)
      expect(await collected(hour, { count: true })).toBe(logs.length)
      expect(await collected(hour, { unique: 'to' })).toBe(new Set(logs.map(({ to }) => to)).size)
    }
  })

  it('takes the events of several contracts, and only those with all arguments that are asked for', async () => {
    const hour = scene.hours.at(-1) as Hour
    const { dollar, tide } = scene.addresses
    const both = await transfers(hour, ['dollar', 'tide'])
    expect(await collected(hour, { address: [dollar, tide], count: true })).toBe(both.length)
    const [first] = await transfers(hour)
    const own = await transfers(hour)
    for (const where of [
      { to: first?.to?.toLowerCase() },
      { value: String(first?.value) },
      { from: first?.from, value: String(first?.value) },
    ]) {
      const meant = own.filter(
        ({ from, to, value }) =>
          (where.from ?? from) === from &&
          (where.to ?? to?.toLowerCase()) === to?.toLowerCase() &&
          (where.value ?? String(value)) === String(value),
      )
      expect(meant.length).toBeGreaterThan(0)
      expect(await collected(hour, { count: true, where }), JSON.stringify(where)).toBe(meant.length)
    }
  })

  it('is 0 where there is no event', async () => {
    const hour = scene.hours.at(-1) as Hour
    expect(await collected(hour, { sum: 'value', where: { from: address } })).toBe(0)
    expect(await collected(hour, { unique: 'to', where: { value: 1 } })).toBe(0)
  })

  it('fails where there is no contract at the as-of block, which is not 0', async () => {
    const hour = scene.hours.at(-1) as Hour
    const options = { chain: 'demo', address: [scene.addresses.dollar, address], event, label: 'Value', count: true }
    const { message } = await faultOf(runner.collect(configured('event-sum', { options }), hour))
    expect(message).toBe(`${address} has no events: no contract there at that hour`)
  })

  it('reads decimals from the token that is named', async () => {
    const hour = scene.hours.at(-1) as Hour
    const client = createPublicClient({ transport: http(scene.url) })
    const decimals = await client.readContract({
      address: scene.addresses.tide,
      abi: erc20Abi,
      functionName: 'decimals',
    })
    expect(decimals).toBe(18)
    const sum = sumOf(await transfers(hour))
    expect(await collected(hour, { sum: 'value', decimals: { address: scene.addresses.tide } })).toBe(
      Number(`${sum}e-18`),
    )
  })
})

const mistakes = [
  [{ count: true, event: 'Transfer' }, ['event'], 'must be the signature of an event'],
  [{ count: true, event: 'a() view returns (uint256)' }, ['event'], 'must be the signature of an event'],
  [{}, [], 'must have one of sum, count, unique, and has nothing of it'],
  [{ sum: 'value', count: true }, ['count'], 'must have one of sum, count, unique, and has sum and count'],
  [{ sum: 'amount' }, ['sum'], 'Transfer has no argument "amount": it has from, to, value'],
  [{ sum: 'to' }, ['sum'], 'must be an integer or a bool, and to is address'],
  [{ unique: 'who' }, ['unique'], 'Transfer has no argument "who"'],
  [{ count: true, where: { who: address } }, ['where', 'who'], 'Transfer has no argument "who"'],
  [{ count: true, where: { to: '0x1' } }, ['where', 'to'], 'must be an address in quotes'],
  [{ count: true, where: { value: 2 ** 60 } }, ['where', 'value'], 'and one beyond 2^53 is written in quotes'],
  [{ count: true, decimals: 6 }, ['decimals'], 'belongs to a sum, and this is a count'],
  [
    { count: true, event: 'Wide(uint256 indexed id, uint256 amount) anonymous' },
    ['event'],
    'is anonymous, and its first topic may be that of any other event: give id under where',
  ],
  [{ count: true, event: 'Wide(bytes32 indexed) anonymous;' }, ['event'], 'may be that of any other event'],
  [{ sum: 'value', decimals: true, address: [address] }, ['decimals'], 'which holds for all of these contracts'],
  [{ count: true, labl: 'x' }, ['labl'], 'unknown option "labl"'],
] as const

it('event-sum takes an anonymous event whose logs are distinct from others', async () => {
  const { runner } = testRunner()
  for (const own of [
    { event: 'Note(address indexed who, uint256 amount) anonymous', sum: 'amount' },
    { event: 'event Bare(uint256 amount) anonymous;', sum: 'amount' },
    { event: 'Wide(uint256 indexed id, uint256 amount) anonymous', sum: 'amount', where: { id: 7 } },
  ]) {
    const options = { chain: 'demo', address, label: 'Value', ...own }
    expect(await runner.describe(configured('event-sum', { options })), own.event).toMatchObject({ kind: 'usable' })
  }
})

it('event-sum tells all mistakes of an event at once', async () => {
  const { runner } = testRunner()
  const where = { who: address, to: '0x1', from: address, value: { mni: 5 } }
  const options = { chain: 'demo', address, event, label: 'Value', sum: 'valu', token: 'value', where }
  const description = await runner.describe(configured('event-sum', { options }))
  const paths = description.kind === 'mistaken' && description.mistakes.map(({ path }) => path.join('.'))
  expect(paths).toEqual(['sum', 'where.who', 'where.to', 'where.value.mni', 'token'])
})

it('event-sum tells mistakes at their place', async () => {
  const { runner } = testRunner()
  for (const [own, path, message] of mistakes) {
    const options = { chain: 'demo', address, event, label: 'Value', ...own }
    expect(await runner.describe(configured('event-sum', { options })), JSON.stringify(own)).toMatchObject({
      kind: 'mistaken',
      mistakes: [{ path, message: expect.stringContaining(message) }],
    })
  }
})
