import { inspect } from 'node:util'
import { onTestFinished } from 'vitest'
import type { RawLog } from '../../../src/chain/log-list.ts'
import { type ChainReaderDeps, createChainReader, type OpenChainReader } from '../../../src/chain/read/reader.ts'
import type { ChainReader, RawReads } from '../../../src/chain/reads.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { EarliestMs } from '../../../src/model/clock.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAt } from '../../../src/model/hour.ts'
import { type Behaviour, type FakeNode, startNode } from './node.ts'

/** 2023-11-14T23:00:00Z: the first full hour after block 0 of the chains of these tests. */
export const firstHour: Hour = hourAt(1_700_002_800_000)
export const genesisSeconds = 1_700_000_000

export function hourSeconds(hour: Hour): number {
  return hour / 1000
}

/** Never aborted. */
export const patient = new AbortController().signal

/** With logs as a list. */
export interface OpenReads extends RawReads {
  logs(...asked: Parameters<RawReads['logs']>): Promise<readonly RawLog[]>
}

/** A chain as a collector's process sees it, without the blocks that were read at. */
export function rawReads(reader: ChainReader): OpenReads {
  return {
    block: (hour, signal) => reader.block(hour, signal),
    read: async (hour, requests, signal) => (await reader.read(hour, requests, signal)).value,
    logs: async (hour, filter, signal) => [...(await reader.logs(hour, filter, signal)).value],
  }
}

/** Reads of a chain that end with the test. */
export function openReader(endpoints: readonly string[], parts: Partial<ChainReaderDeps> = {}): OpenReads {
  return rawReads(openChain(endpoints, parts))
}

/** A reader that is closed when the test ends. */
export function openChain(endpoints: readonly string[], parts: Partial<ChainReaderDeps> = {}): OpenChainReader {
  const earliestMs = () => (parts.time ?? systemTime).nowMs() as EarliestMs
  const reader = createChainReader({ name: 'ethereum', id: 1, endpoints, time: systemTime, earliestMs, ...parts })
  onTestFinished(() => reader.close())
  return reader
}

/** A server that ends with the test. */
export async function node(behaviour: Behaviour, path?: string): Promise<FakeNode> {
  const started = await startNode(behaviour, path)
  onTestFinished(() => started.stop())
  return started
}

/** The Fault that the work must reject with. */
export async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const outcome = await work.then(
    value => value,
    (error: unknown) => error,
  )
  if (outcome instanceof Fault) return outcome
  throw new Error(`no Fault but ${inspect(outcome)}`)
}
