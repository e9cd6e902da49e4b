import { join } from 'node:path'
import {
  createPublicClient,
  encodeFunctionData,
  http,
  pad,
  parseAbi,
  parseAbiItem,
  type ReadContractParameters,
} from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { multicall3Address } from '../../src/chain/read/read-memory.ts'
import type { RawReads } from '../../src/chain/reads.ts'
import { Anvil } from '../../src/devchain/anvil.ts'
import type { Hex } from '../../src/model/block.ts'
import { type Hour, hourAfter } from '../../src/model/hour.ts'
import { chainAsOf } from '../../src/runner/child/typed-reads.ts'
import type { Runner } from '../../src/runner/runner.ts'
import { configured, testRunner } from '../runner/setup.ts'
import { temporaryFolder } from '../support/folder.ts'
import { forwardingTo } from './support/node.ts'
import { compileProbe, mineAt, placeMulticall3, probeAbi, sendAt, sender, storeInput } from './support/probe.ts'
import {
  faultOf,
  firstHour,
  genesisSeconds,
  hourSeconds,
  node,
  openChain,
  openReader,
  patient,
} from './support/readers.ts'

/**
 * A real node. Hour 1 has no contract and no Multicall3; the contract comes in hour 2, Multicall3 in hour 3; hour 4 has no
 * block at all; hour 5 begins exactly with a block; the chain ends in hour 6.
 */
let anvil: Anvil
let probe: Hex
const hours = [0, 1, 2, 3, 4, 5].map(count => hourAfter(firstHour, count))
const [before, deployed, aggregated, quiet, exact, head] = hours.map(hour => hour) as [
  Hour,
  Hour,
  Hour,
  Hour,
  Hour,
  Hour,
]

beforeAll(async () => {
  anvil = await Anvil.start(genesisSeconds, ['--chain-id', '1'])
  const [s1, s2, s3, , s5] = hours.map(hourSeconds) as [number, number, number, number, number, number]
  await mineAt(anvil, s1 - 700, s1 - 13, s1 + 1)
  const { contractAddress } = await sendAt(anvil, s1 + 100, { data: await compileProbe() })
  probe = contractAddress
  await sendAt(anvil, s2 - 1, { to: probe, data: storeInput(7n) })
  await mineAt(anvil, s2 + 5)
  await placeMulticall3(anvil)
  await sendAt(anvil, s2 + 60, { to: probe, data: storeInput(20n) })
  await sendAt(anvil, s2 + 61, { to: probe, data: storeInput(21n) })
  // Hour 3 is `aggregated`; no block from here to the start of hour 5.
  await mineAt(anvil, s3 - 5)
  await sendAt(anvil, s5, { to: probe, data: storeInput(50n) })
  await sendAt(anvil, s5 + 3, { to: probe, data: storeInput(51n) })
})
afterAll(() => anvil?.stop())

const at = (reader: RawReads, hour: Hour) => chainAsOf(reader, hour, patient, 'ethereum')
const chain = (hour: Hour) => at(openReader([anvil.url]), hour)
const call = <const F extends string>(functionName: F) => ({ address: probe, abi: probeAbi, functionName }) as const

describe('a real chain, as of hours', () => {
  it('gives the last block at or before each hour', async () => {
    const reader = openReader([anvil.url])
    const stamps = await Promise.all(
      hours.slice(0, 5).map(async hour => (await reader.block(hour, patient)).timestampSeconds - hourSeconds(hour)),
    )
    expect(stamps).toEqual([-13, -1, -5, -3_605, 0])
    expect((await faultOf(reader.block(head, patient))).code).toBe('chain-behind')
  })

  it('gives the value of the hour, whatever happened since', async () => {
    const reader = openReader([anvil.url])
    const values = [deployed, aggregated, quiet, exact].map(hour => at(reader, hour).read(call('stored')))
    expect(await Promise.all(values)).toEqual([7n, 21n, 21n, 50n])
  })

  it('reads typed values, overloads and lists, with and without Multicall3', async () => {
    for (const [hour, stored] of [
      [deployed, 7n],
      [aggregated, 21n],
    ] as const) {
      const [amount, pair, plus, plusTwo] = await chain(hour).read([
        call('stored'),
        call('pair'),
        { ...call('plus'), args: [1n] },
        { ...call('plus'), args: [1n, 2n] },
      ])
      const typed: bigint = amount
      const typedPair: readonly [bigint, Hex] = pair
      expect([typed, typedPair[0], plus, plusTwo]).toEqual([stored, stored, stored + 1n, stored + 3n])
      expect(typedPair[1].toLowerCase()).toBe(probe)
    }
  })

  it('a contract that is not there yet is a fault that says so, not a value', async () => {
    const fault = await faultOf(chain(before).read(call('stored')))
    expect(fault.code).toBe('chain-call-undecodable')
    expect(fault.message).toContain('no contract there at that hour')
    expect(fault.facts).toEqual({ chain: 'ethereum', contract: probe, function: 'stored' })
  })

  it.each([
    ['deployed', 'singly'],
    ['aggregated', 'together'],
  ])('a call that reverts fails alone, with its reason (%s: read %s)', async (name, _) => {
    const view = chain(name === 'deployed' ? deployed : aggregated)
    const stored = name === 'deployed' ? 7 : 21
    const reasons = await Promise.all([
      faultOf(view.read(call('refusesInWords'))),
      faultOf(view.read(call('refusesByError'))),
      faultOf(view.read(call('refusesSilently'))),
      faultOf(view.read({ ...call('divided'), args: [0n] })),
      faultOf(view.read([call('stored'), call('refusesInWords')])),
      view.read(call('stored')),
    ])
    expect(reasons.slice(0, 5).map(fault => (typeof fault === 'object' ? fault.code : fault))).toEqual(
      Array(5).fill('chain-call-reverted'),
    )
    expect(reasons.slice(0, 5).map(fault => (typeof fault === 'object' ? fault.message : fault))).toEqual([
      'refusesInWords reverted: "not today"',
      `refusesByError reverted: TooLow(${stored}, 100)`,
      'refusesSilently reverted: it gave no reason',
      'divided reverted: division by zero',
      'refusesInWords reverted: "not today"',
    ])
    expect(reasons[5]).toBe(BigInt(stored))
  })

  it('a call that uses up all gas does not take the others with it', async () => {
    const view = chain(aggregated)
    const [greedy, stored, pair] = await Promise.all([
      faultOf(view.read(call('usesAllGas'))),
      view.read(call('stored')),
      view.read(call('pair')),
    ])
    expect(greedy.message).toMatch(/gas/i)
    expect([stored, pair[0]]).toEqual([21n, 21n])
  })

  it('a call that cannot be encoded is the collector’s mistake', async () => {
    const abi = parseAbi(['function balanceOf(address) view returns (uint256)'])
    const wrong = { address: probe, abi, functionName: 'balanceOf', args: ['0x12'] } as const
    const fault = await faultOf(chain(aggregated).read(wrong))
    expect(fault.code).toBe('collector-threw')
    expect(fault.message).toBe('balanceOf cannot be called: Address "0x12" is invalid.')
  })

  it('bytes that the ABI does not describe are a fault', async () => {
    const abi = parseAbi(['function stored() view returns (string)'])
    const fault = await faultOf(chain(aggregated).read({ address: probe, abi, functionName: 'stored' }))
    expect(fault.message).toContain('bytes its ABI does not describe')
  })

  it('balances are those of the hour, with and without Multicall3', async () => {
    const [first, later] = await Promise.all([chain(before).balance(sender), chain(aggregated).balance(sender)])
    expect(first).toBe(10_000n * 10n ** 18n)
    expect(later).toBeLessThan(first)
    const { number } = await openReader([anvil.url]).block(aggregated, patient)
    expect(later).toBe(BigInt(await anvil.rpc<Hex>('eth_getBalance', sender, `0x${number.toString(16)}`)))
  })

  it.each([
    ['deployed', 7n],
    ['aggregated', 21n],
  ] as const)(
    'a list in parts fails only where a call reverts or its answer does not fit (%s)',
    async (name, stored) => {
      const view = chain(name === 'deployed' ? deployed : aggregated)
      const abi = parseAbi(['function stored() view returns (string)'])
      const list = [
        call('stored'),
        call('refusesByError'),
        { address: probe, abi, functionName: 'stored' },
        call('pair'),
      ] as const
      const [amount, refused, odd, pair] = await view.read(list, { partial: true })
      expect(amount).toEqual({ status: 'success', result: stored })
      expect(refused).toMatchObject({
        status: 'failure',
        error: { message: `refusesByError reverted: TooLow(${stored}, 100)` },
      })
      expect(odd).toMatchObject({ status: 'failure', error: { code: 'chain-call-undecodable' } })
      expect(pair.result?.[0]).toBe(stored)
      const noContract = await chain(before).read([call('stored')], { partial: true })
      expect(noContract).toMatchObject([{ status: 'failure', error: { code: 'chain-call-undecodable' } }])
    },
  )

  it('a list in parts rejects where no node answers, and for a call that cannot be encoded', async () => {
    const down = await node((_, response) => void response.writeHead(500).end())
    const read = (url: string, ...args: readonly unknown[]) =>
      at(openReader([url]), aggregated).read([{ ...call('divided'), args: args as readonly [bigint] }], {
        partial: true,
      })
    expect((await faultOf(read(down.url, 1n))).code).toBe('chain-unreachable')
    expect((await faultOf(read(anvil.url, 'one'))).code).toBe('collector-threw')
    const misspelt: object = { partial: true, parts: true }
    const wrong = chain(aggregated).read([call('stored')], misspelt as { partial: true })
    expect((await faultOf(wrong)).message).toBe('read has no option parts')
  })

  it('a read has the sender that is asked for, with and without Multicall3', async () => {
    for (const hour of [deployed, aggregated]) {
      const view = chain(hour)
      const [own, other, usual, raw] = await Promise.all([
        view.read({ ...call('caller'), from: sender }),
        view.read({ ...call('caller'), from: probe }),
        view.read(call('caller')),
        view.call({ to: probe, data: encodeFunctionData(call('caller')), from: sender }),
      ])
      expect([own, other, usual].map(one => one.toLowerCase())).toEqual(
        [sender, probe, multicall3Address].map(one => one.toLowerCase()),
      )
      expect(raw).toBe(pad(sender.toLowerCase() as Hex))
    }
    const refused = chain(aggregated).call({
      to: probe,
      data: encodeFunctionData(call('refusesInWords')),
      from: sender,
    })
    expect((await faultOf(refused)).message).toMatch(/^0x[0-9a-f]{8} reverted: "not today"$/)
  })

  it('a storage slot is that of the hour, and zeros where nothing was written', async () => {
    const slots = [deployed, aggregated, quiet, exact].map(hour => chain(hour).storage(probe, 0n))
    expect((await Promise.all(slots)).map(BigInt)).toEqual([7n, 21n, 21n, 50n])
    const far = await chain(aggregated).storage(probe, `0x${'ff'.repeat(32)}`)
    expect(far).toBe(`0x${'00'.repeat(32)}`)
    expect(await chain(before).storage(probe, 0n)).toBe(far)
  })

  it('reads with a sender and storage slots are in the request of the other reads, one of each', async () => {
    const proxy = await node(forwardingTo(anvil.url))
    const reader = openReader([proxy.url])
    // Once: which code the endpoint runs, and that it takes hashes.
    await at(reader, aggregated).read({ ...call('caller'), from: sender })
    const view = at(reader, quiet)
    await reader.block(quiet, patient)
    const found = proxy.requests.length
    await Promise.all([
      view.read([call('stored'), call('pair')]),
      ...[sender, sender, probe].map(from => view.read({ ...call('caller'), from })),
      ...[0n, 0n, 1n].map(slot => view.storage(probe, slot)),
      view.balance(sender),
    ])
    expect(proxy.requests.slice(found).map(methods => methods.toSorted())).toEqual([
      // The aggregate, two slots by code, two reads with a sender and the certificate next to them.
      Array(6).fill('eth_call'),
    ])
  })

  it('logs are those after the hour before, oldest first, typed by the event', async () => {
    const event = probeAbi[1]
    const amounts = async (hour: Hour, by?: Hex) => {
      const logs = await chain(hour).logs({ address: probe, event, ...(by && { args: { by } }) })
      return logs.map(({ args }) => args.amount)
    }
    expect(await amounts(deployed)).toEqual([7n])
    expect(await amounts(aggregated)).toEqual([20n, 21n])
    expect(await amounts(quiet)).toEqual([])
    expect(await amounts(exact, sender)).toEqual([50n])
    expect(await amounts(exact, probe)).toEqual([])
    const noContractYet = await faultOf(chain(before).logs({ address: probe, event }))
    expect(noContractYet.message).toBe(`${probe} has no events: no contract there at that hour`)
    expect(noContractYet.facts).toEqual({ chain: 'ethereum', contract: probe })
  })

  it('logs of several events have the transaction that emitted them', async () => {
    const events = [probeAbi[1], parseAbiItem('event Other(uint256 amount)')] as const
    const [log, ...others] = await chain(exact).logs({ address: probe, events })
    const receipt = await anvil.rpc<{ to: Hex } | null>('eth_getTransactionReceipt', log?.transactionHash)
    expect([log?.eventName, log?.args.amount, receipt?.to, others]).toEqual(['Stored', 50n, probe, []])
  })

  it('earlier hours are read in the requests of the hour, and their logs are those of their own hour', async () => {
    const proxy = await node(forwardingTo(anvil.url))
    const [one, other] = [1, 2].map(() => testRunner({ chains: { ethereum: openChain([proxy.url]) } }).runner)
    const collect = (runner: Runner | undefined, hoursBefore: readonly number[], events = false) =>
      runner?.collect(configured('./earlier.ts', { options: { contract: probe, hoursBefore, events } }), exact)
    await collect(one, [])
    const alone = proxy.requests.length
    const both = await collect(other, [1, 2])
    expect(both?.readings).toEqual({ Before0: 50, Before1: 21, Before2: 21 })
    expect(proxy.requests.length - alone, 'as many requests as for the hour alone').toBe(alone)
    // Two of the hours end with one block.
    expect(proxy.requests.at(-1)).toEqual(['eth_call', 'eth_call'])
    expect(both?.pins.map(({ block }) => block.hash)).toEqual([
      (await openReader([anvil.url]).block(exact, patient)).hash,
    ])
    const events = await collect(other, [1, 2], true)
    expect(events?.readings).toEqual({ Before0: 50, Before1: 0, Before2: 41 })
    expect(events?.pins[0]?.logs?.map(({ hoursBefore = 0 }) => hoursBefore).toSorted()).toEqual([0, 1, 2])
  })

  it('reads of several collectors in one turn reach the node as one eth_call', async () => {
    const proxy = await node(forwardingTo(anvil.url))
    const reader = openReader([proxy.url])
    await reader.block(aggregated, patient)
    const collectors = [1, 2, 3, 4, 5].map(() => at(reader, aggregated))
    const values = await Promise.all(
      collectors.flatMap((one, index) => [
        one.read({ ...call('plus'), args: [BigInt(index)] }),
        one.read([call('stored'), { ...call('divided'), args: [BigInt(index + 1)] }]),
        one.balance(sender),
      ]),
    )
    expect(values).toHaveLength(15)
    expect(proxy.requests.flat().filter(method => method === 'eth_call')).toHaveLength(1)
    expect(proxy.requests.at(-1)).toEqual(['eth_call'])
  })

  it('1,000 reads of several hours are what viem reads one after the other, reverts included, in one request', async () => {
    const proxy = await node(forwardingTo(anvil.url))
    const reader = openReader([proxy.url])
    const client = createPublicClient({ transport: http(anvil.url) })
    const asked = [aggregated, quiet, exact]
    const blocks = await Promise.all(asked.map(hour => reader.block(hour, patient)))
    const calls = Array.from({ length: 1_000 }, (_, index) => {
      const args = index % 7 === 0 ? ([BigInt(index), 1n] as const) : ([BigInt(index)] as const)
      return index % 10 === 0 ? call('refusesInWords') : { ...call('plus'), args }
    })
    const before = proxy.requests.length
    const ours = await Promise.all(
      asked.map(hour => Promise.allSettled(calls.map(one => at(reader, hour).read(one as (typeof calls)[1])))),
    )
    const different = new Set(blocks.map(({ hash }) => hash))
    expect(proxy.requests.slice(before)).toEqual([[...different].map(() => 'eth_call')])
    for (const [index, { number: blockNumber }] of blocks.entries()) {
      for (const [place, one] of calls.entries()) {
        if (place % 45 > 1) continue
        const [viems] = await Promise.allSettled([
          client.readContract({ ...one, blockNumber } as ReadContractParameters),
        ])
        const own = ours[index]?.[place]
        expect(own?.status).toBe(viems.status)
        if (viems.status === 'fulfilled' && own?.status === 'fulfilled') expect(own.value).toBe(viems.value)
      }
    }
  })

  it.each(['websocket', 'ipc'])('gives the same over %s', async kind => {
    const path = join(temporaryFolder(), 'node.ipc')
    const second = kind === 'ipc' ? await Anvil.start(genesisSeconds, ['--chain-id', '1', '--ipc', path]) : undefined
    try {
      if (second) await mineAt(second, hourSeconds(firstHour) - 20, hourSeconds(firstHour) + 20)
      const reader = openReader([second ? path : anvil.url.replace('http', 'ws')])
      const block = await reader.block(firstHour, patient)
      expect(block.timestampSeconds - hourSeconds(firstHour)).toBe(second ? -20 : -13)
      expect(await at(reader, firstHour).balance(sender)).toBe(10_000n * 10n ** 18n)
    } finally {
      await second?.stop()
    }
  })
})
