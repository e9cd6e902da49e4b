import { Agent, request } from 'undici'
import { createPublicClient, erc20Abi, http } from 'viem'
import { aggregateInput, certifyingReads } from '../../../../src/chain/read/read.ts'
import { multicall3Address } from '../../../../src/chain/read/read-memory.ts'
import { createChainReader } from '../../../../src/chain/read/reader.ts'
import type { JoinableRead, RawReads } from '../../../../src/chain/reads.ts'
import { systemTime } from '../../../../src/edge/time.ts'
import { chainAsOf, encodedInput } from '../../../../src/runner/child/typed-reads.ts'
import { blockAt, hashOf, hourOf } from './chain.ts'

/** Reads the same list in each of some hours, asked for at once: the values, hour by hour. */
export interface Way {
  read(hours: readonly number[], count: number): Promise<readonly (readonly unknown[])[]>
  close(): Promise<void> | void
}

const patient = new AbortController().signal

/** Balances of one token each of as many owners. */
const calls = Array.from({ length: 1_000 }, (_, index) => {
  const address = `0x${((index % 50) + 1).toString(16).padStart(40, '0')}` as const
  const owner = `0x${(index + 1_000).toString(16).padStart(40, '0')}` as const
  return { address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] } as const
})

/** The reader, and values typed by their ABI. */
function ours(url: string): Way {
  const reader = createChainReader({ name: 'bench', id: 1, endpoints: [url], time: systemTime })
  const reads: RawReads = {
    block: reader.block.bind(reader),
    read: async (hour, requests, signal) => (await reader.read(hour, requests, signal)).value,
    logs: async (hour, filter, signal) => (await reader.logs(hour, filter, signal)).value,
  }
  return {
    read: (hours, count) =>
      Promise.all(hours.map(hour => chainAsOf(reads, hourOf(hour), patient, 'bench').read(calls.slice(0, count)))),
    close: () => reader.close(),
  }
}

/** Bytes made before, posted by undici; the answer is parsed, and cut where each value stands. */
function raw(url: string): Way {
  const dispatcher = new Agent({ connections: 1 })
  const headers = { 'content-type': 'application/json' }
  const bodies = new Map<string, Buffer>()
  function bodyOf(hours: readonly number[], count: number): Buffer {
    const key = `${hours.join()}:${count}`
    const body = bodies.get(key) ?? Buffer.from(JSON.stringify(batchOf(hours, count)))
    bodies.set(key, body)
    return body
  }
  return {
    async read(hours, count) {
      const body = bodyOf(hours, count)
      const answer = await request(url, { method: 'POST', headers, body, dispatcher })
      const parsed = (await answer.body.json()) as { result: string } | { result: string }[]
      return [parsed].flat().map(({ result }) => valuesIn(result, count))
    },
    close: () => dispatcher.close(),
  }
}

function batchOf(hours: readonly number[], count: number): unknown {
  const requests = calls.slice(0, count).map((call): JoinableRead => {
    return { kind: 'call', to: call.address, input: encodedInput(call) }
  })
  const transaction = { to: multicall3Address, data: aggregateInput(requests) }
  const batch = hours.map((hour, index) => {
    const at = { blockHash: hashOf(blockAt(hour)), requireCanonical: true }
    return { jsonrpc: '2.0', id: index + 1, method: 'eth_call', params: [transaction, at] }
  })
  return batch.length === 1 ? batch[0] : batch
}

function valuesIn(result: string, count: number): bigint[] {
  const values: bigint[] = []
  const first = 2 + (2 + count + certifyingReads) * 64
  for (let index = certifyingReads; index < count + certifyingReads; index++) {
    const at = first + (index * 4 + 3) * 64
    values.push(BigInt(`0x${result.slice(at, at + 64)}`))
  }
  return values
}

/** viem's multicall in one call an hour, hour after hour. */
function viem(url: string): Way {
  const client = createPublicClient({ transport: http(url) })
  return {
    async read(hours, count) {
      const values: unknown[][] = []
      for (const hour of hours) {
        const contracts = calls.slice(0, count)
        const blockNumber = BigInt(blockAt(hour))
        const results = await client.multicall({
          contracts,
          blockNumber,
          batchSize: 0,
          multicallAddress: multicall3Address,
        })
        values.push(results.map(({ result }) => result))
      }
      return values
    },
    close: () => {},
  }
}

/** The ways to read, by name. Each opens one to a node. */
export const ways = { ours, raw, viem } as const
export type WayName = keyof typeof ways
