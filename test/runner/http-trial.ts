import type { LookupFunction } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import { systemTime, type Time } from '../../src/edge/time.ts'
import type { Fault } from '../../src/model/fault.ts'
import type { HostSlots } from '../../src/runner/child/child-end.ts'
import { fetchJson, type HttpDeps } from '../../src/runner/child/http.ts'
import { createNetwork, type HttpNetworkOptions } from '../../src/runner/child/network.ts'
import { type Answer, type Answers, type Source, type SourceParts, startSource } from './source.ts'

/** The instant at which the clock of a trial stands. */
export const nowMs = Date.UTC(2026, 10, 20, 13)

/** The answer that fits `schema`. */
export const ok: Answer = { body: '{"value":1}' }
export const schema = z.object({ value: z.number() })

/** An answer that leads elsewhere. */
export const to = (location: string, status = 302): Answer => ({ status, headers: { location } })

/** A source that ends with the test. */
export async function source(answers: Answers, parts?: SourceParts): Promise<Source> {
  const started = await startSource(answers, parts)
  onTestFinished(() => started.stop())
  return started
}

/** A clock that stands still, and notes the waits, which take no time. */
export function stillTime(slept: number[] = []): Time {
  return { ...systemTime, nowMs: () => nowMs, chance: () => 0.5, sleep: async ms => void slept.push(ms) }
}

/** Slots without a limit. @param leftMs time until the run's deadline */
export function freely(leftMs: number): HostSlots {
  return { take: async () => ({ kind: 'granted', deadlineAtMs: nowMs + leftMs, end: () => {} }) }
}

/** An edge with connections of its own. */
export function edgeOf(parts: Partial<HttpDeps> = {}): HttpDeps {
  return {
    time: stillTime(),
    slots: freely(60_000),
    signal: new AbortController().signal,
    waitsFor: (_name, promise) => promise,
    network: createNetwork(),
    ...parts,
  }
}

export interface Trial {
  readonly source: Source
  readonly slept: readonly number[]
  get(path: string, more?: Partial<HttpDeps>): Promise<unknown>
}

/** A source, and fetches from it. Every address holds a secret. */
export async function trial(answers: Answers, leftMs = 60_000): Promise<Trial> {
  const slept: number[] = []
  const started = await source(answers)
  const edge = edgeOf({ time: stillTime(slept), slots: freely(leftMs) })
  return {
    source: started,
    slept,
    get: (path, more) => fetchJson(`${started.url}${path}?key=hidden`, schema, { ...edge, ...more }),
  }
}

/** Nothing a person sees of a fault holds the path, the query or a header. */
export function holdsNoSecret({ message, facts, fix }: Fault): void {
  expect(JSON.stringify({ message, facts, fix })).not.toMatch(/hidden|\/secret/)
}

/** Names and their addresses; one with several lists gives each in turn, the last for ever. */
export function namesOf(names: Readonly<Record<string, readonly (readonly string[])[]>>): LookupFunction {
  const turns = new Map<string, number>()
  return (hostname, options, done) => {
    const turn = turns.get(hostname) ?? 0
    turns.set(hostname, turn + 1)
    const lists = names[hostname] ?? []
    const addresses = lists[Math.min(turn, lists.length - 1)] ?? []
    const found = addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    const [first] = found
    if (!first) return done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), '', 4)
    if (options.all) return done(null, found)
    done(null, first.address, first.family)
  }
}

/** Connections in a world where 127.0.0.2 and 127.0.0.4 are of the public internet. */
export function scriptedNetwork(options: HttpNetworkOptions) {
  return createNetwork({ isPublic: address => address === '127.0.0.2' || address === '127.0.0.4', ...options })
}
