import { onTestFinished } from 'vitest'
import { CallMeter } from '../../../src/chain/endpoint/call-meter.ts'
import { type EndpointDeps, type OpenEndpoint, openEndpoint } from '../../../src/chain/endpoint/endpoint.ts'
import { EndpointPool, type EndpointSource, type PoolDeps } from '../../../src/chain/endpoint/endpoint-pool.ts'
import { EndpointFailure } from '../../../src/chain/endpoint/failures.ts'
import type { RpcAnswer, RpcCall } from '../../../src/chain/endpoint/rpc.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/faulty-rpc.ts'
import { answering, type Behaviour, NodeError, startNode } from './node.ts'

/** Never aborted. */
export const never = new AbortController().signal

/** A node of chain 1 whose `echo` answers its first parameter, and `fail` an error. */
export const echoing: Behaviour = answering((method, params) => {
  if (method === 'eth_chainId') return '0x1'
  if (method === 'echo') return params[0]
  if (method === 'eth_getBlockByNumber') return blockOf(params[0])
  if (method === 'eth_call') return '0x01'
  throw new NodeError(-32000, 'no such thing')
})

/** Head of the echoing node. */
export const echoHead = 10_000

function blockOf(asked: unknown): unknown {
  const number = asked === 'latest' ? echoHead : Number(asked)
  const hex = `0x${number.toString(16)}`
  return { number: hex, timestamp: hex, hash: `0x${number.toString(16).padStart(64, '0')}` }
}

/** The faulty proxy before a node that ends with the test. */
export async function faulty(behaviour: Behaviour = echoing, path?: string): Promise<FaultyRpc> {
  const node = await startNode(behaviour)
  const proxy = await startFaultyRpc(node.url, path)
  onTestFinished(async () => {
    await proxy.stop()
    await node.stop()
  })
  return proxy
}

/** An endpoint of chain 1 that is the only one, closed with the test. */
export function open(url: string, parts: Partial<EndpointDeps> & Partial<EndpointShared> = {}): OpenEndpoint {
  const { time = systemTime, isOnlyOne = true, meter = new CallMeter(), ...limits } = parts
  const endpoint = openEndpoint({ url, ...limits }, { chainId: 1, isOnlyOne, time, meter })
  onTestFinished(() => endpoint.close())
  return endpoint
}

type EndpointShared = Parameters<typeof openEndpoint>[1]

/** A pool of chain 1, closed with the test. */
export function openPool(endpoints: readonly EndpointSource[], parts: Partial<PoolDeps> = {}): EndpointPool {
  const pool = new EndpointPool(
    { name: 'ethereum', id: 1, time: systemTime, passedOver: () => {}, ...parts },
    endpoints,
  )
  onTestFinished(() => pool.close())
  return pool
}

export const echo = (value: unknown): RpcCall => ({ method: 'echo', params: [value] })
export const echoes = (count: number, from = 0) => Array.from({ length: count }, (_, index) => echo(from + index))
export const results = (answers: readonly RpcAnswer[]) =>
  answers.map(answer => (answer.kind === 'result' ? answer.result : answer.error))

/** The EndpointFailure that the work must reject with. */
export async function failureOf(work: Promise<unknown>): Promise<EndpointFailure> {
  const outcome = await work.then(
    () => 'nothing',
    (error: unknown) => error,
  )
  if (outcome instanceof EndpointFailure) return outcome
  throw new Error(`no EndpointFailure but ${String(outcome)}`)
}
