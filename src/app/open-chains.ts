import type { CallMeter } from '../chain/endpoint/call-meter.ts'
import type { PassedOver } from '../chain/endpoint/endpoint-pool.ts'
import { createChainReader, type OpenChainReader } from '../chain/read/reader.ts'
import { secretsOf } from '../config/secret.ts'
import type { IntakeStore } from '../outbox/contract/intake-store.ts'
import type { EndpointState } from '../status/snapshot.ts'
import type { AppContext } from './context.ts'
import { EndpointLog, isOutage } from './endpoint-log.ts'
import { endpointSource } from './endpoint-source.ts'

/** Options of `openChains`. */
export interface ChainsDeps {
  /** Caches final as-of blocks. Default: none are, so that results do not depend on earlier searches. */
  readonly store?: Pick<IntakeStore, 'finalBlocks'> | undefined
  /** Counts the calls to a chain, by its name. Default: none are counted. */
  readonly meterOf?: (chain: string) => CallMeter | undefined
}

/** Opens the configured chains; they are closed with the stack. */
export function openChains(
  context: AppContext,
  stack: AsyncDisposableStack,
  { store, meterOf }: ChainsDeps = {},
): Readonly<Record<string, OpenChainReader>> {
  const { config, time, log, redactor } = context
  redactor.add(secretsOf(config))
  const chains: Record<string, OpenChainReader> = {}
  for (const chain of config.chains) {
    const { name, id, settleMs, multicall } = chain
    const watch = new EndpointLog(name, log, time)
    const passedOver: PassedOver = (endpoint, reason, kind) => {
      if (!isOutage(kind)) log.warn({ chain: name, endpoint, reason }, 'endpoint failed, another one is asked')
    }
    const contextFound = (context: string) => {
      log.warn({ chain: name, context }, 'calls do not see the block as its header is: reads are pinned by its hash')
    }
    const meter = meterOf?.(name)
    const kept = store && { finalBlocks: store.finalBlocks(id) }
    // A run that waits for the chain must not reach its deadline because of it.
    const patienceMs = config.collect.deadlineMs / 3
    const endpoints = chain.rpc.map(ref => endpointSource(name, ref, context))
    const countsOf = context.kept && ((url: string) => context.kept?.callsTo(name, url))
    const own = {
      name,
      id,
      settleMs,
      multicall,
      patienceMs,
      endpoints,
      time,
      passedOver,
      watch,
      contextFound,
      countsOf,
    }
    const reader = createChainReader({ ...own, ...kept, ...(meter && { meter }) })
    stack.defer(() => reader.close())
    chains[name] = reader
  }
  return chains
}

/** State of the endpoints of all chains, for status output. */
export function endpointStates(chains: Readonly<Record<string, OpenChainReader>>): EndpointState[] {
  return Object.entries(chains).flatMap(([chain, reader]) =>
    reader.health().map(({ head, servesStateFrom, ...report }) => ({
      chain,
      ...report,
      ...(head && { head: { number: Number(head.number), atMs: head.timestampSeconds * 1000 } }),
      ...(servesStateFrom !== undefined && { servesStateFrom: Number(servesStateFrom) }),
    })),
  )
}
