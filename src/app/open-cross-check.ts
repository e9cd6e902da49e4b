import { hostOf } from '../chain/endpoint/endpoint-failure.ts'
import type { EndpointSource } from '../chain/endpoint/endpoint-pool.ts'
import { ElsewhereReader } from '../chain/read/elsewhere-reader.ts'
import { createChainReader, type OpenChainReader } from '../chain/read/reader.ts'
import type { Chains } from '../chain/reads.ts'
import type { ChainConfig } from '../config/config.ts'
import { type ComparedChain, CrossCheck } from '../intake/cross-check.ts'
import type { Runner } from '../runner/runner.ts'
import type { AppContext } from './context.ts'
import { endpointSource } from './endpoint-source.ts'
import { runnerOn } from './open-runner.ts'

/** Readers by the name of their chain. */
type Readers = Readonly<Record<string, OpenChainReader>>

/**
 * Opens what compares endpoints of different hosts; closed with the stack. `undefined` where no chain has a second endpoint.
 * Nothing is asked, and no process started, before it is needed.
 */
export function openCrossCheck(
  context: AppContext,
  chains: Readers,
  stack: AsyncDisposableStack,
): CrossCheck | undefined {
  const { config, log } = context
  const compared = config.chains.flatMap(({ name, rpc, agree = 1 }): ComparedChain[] => {
    const reader = rpc.length > 1 ? chains[name] : undefined
    if (!reader) return []
    const { id } = reader
    return [{ id, name, agree, servedBy: hour => reader.servedBy(hour), quarantine: hour => reader.quarantine(hour) }]
  })
  if (compared.length === 0) return undefined
  return new CrossCheck({ elsewhere: openElsewhere(context, chains, stack), chains: compared, log })
}

/**
 * Runners that read an hour again from endpoints of other hosts than those that served it: the first for a second opinion,
 * the next for a third, as many as the chain with the most `agree` needs.
 */
function openElsewhere(context: AppContext, chains: Readers, stack: AsyncDisposableStack): readonly Runner[] {
  // Processes that are kept for the first runner are not its own.
  const { warm, ...own } = context
  const { config } = own
  const opinions = Math.max(1, ...config.chains.map(({ agree = 1 }) => agree - 1))
  const before: Record<string, ElsewhereReader | OpenChainReader>[] = [chains]
  return Array.from({ length: opinions }, () => {
    const readers = Object.fromEntries(
      config.chains.flatMap(chain => {
        const others = before.flatMap(each => each[chain.name] ?? [])
        if (others.length === 0) return []
        const open = (hosts: ReadonlySet<string>) => readerWithout(hosts, chain, context)
        const reader = new ElsewhereReader({ name: chain.name, others, open })
        stack.defer(() => reader.close())
        return [[chain.name, reader] as const]
      }),
    )
    before.push(readers)
    return runnerOn(readers satisfies Chains, own, stack)
  })
}

function readerWithout(
  hosts: ReadonlySet<string>,
  { name, id, rpc, settleMs, multicall }: ChainConfig,
  context: AppContext,
): OpenChainReader | undefined {
  const endpoints = rpc
    .map(ref => endpointSource(name, ref, context))
    .filter(source => {
      const host = knownHostOf(source)
      return host !== undefined && !hosts.has(host)
    })
  if (endpoints.length === 0) return undefined
  const patienceMs = context.config.collect.deadlineMs / 3
  return createChainReader({ name, id, settleMs, multicall, endpoints, time: context.time, patienceMs })
}

/** `undefined` while its address cannot be read. */
function knownHostOf(source: EndpointSource): string | undefined {
  if (typeof source === 'string') return hostOf(source)
  if (!('read' in source)) return hostOf(source.url)
  try {
    return hostOf(source.read().url)
  } catch {
    return undefined
  }
}
