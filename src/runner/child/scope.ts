import { AsyncLocalStorage } from 'node:async_hooks'
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { setImmediate as tick } from 'node:timers/promises'
import type { CollectorLog } from '../../collector.ts'
import { Fault } from '../../model/fault.ts'
import { type ChildLogLevel, furtherLeftOut, type LogLine, runLogLinesMax } from '../messages.ts'
import { cut, shown, thrownText } from './thrown.ts'

/** State of one run of a collector, available wherever its code runs in the process. */
export interface Scope {
  readonly log: CollectorLog
  /** Writes a line to the daemon's log. */
  line(level: ChildLogLevel, message: string, facts?: Readonly<Record<string, unknown>>): void
  /** Names what is waited for until the promise settles. */
  waitsFor<T>(name: string, promise: Promise<T>): Promise<T>
  /** The names of pending waits when the signal was aborted, or now. */
  waitedFor(): string
  /** Ends the run because its code threw where nothing could catch it. */
  fail(error: unknown): void
}

const current = new AsyncLocalStorage<Scope>()

/** Dependencies of a scope on its run. */
interface ScopeDeps {
  readonly collectorId: string
  readonly signal: AbortSignal
  readonly post: (line: LogLine) => void
  /** Ends the run with an error. */
  readonly fail: (error: unknown) => void
}

/** Creates the scope of one run. */
export function createScope({ collectorId, signal, post, fail }: ScopeDeps): Scope {
  let linesLeft = runLogLinesMax
  let atAbort: string | undefined
  const waits: string[] = []
  const waitText = () => [...new Set(waits)].join(', ')
  signal.addEventListener('abort', () => {
    atAbort = waitText()
  })

  const line: Scope['line'] = (level, message, facts = {}) => {
    linesLeft -= 1
    if (linesLeft < -1) return
    if (linesLeft === -1) return post({ collectorId, level: 'warn', message: furtherLeftOut, facts: {} })
    post({ collectorId, level, message: cut(String(message)), facts: plainFacts(facts) })
  }

  return {
    line,
    fail,
    log: {
      debug: (message, facts) => line('debug', message, facts),
      info: (message, facts) => line('info', message, facts),
      warn: (message, facts) => line('warn', message, facts),
    },
    async waitsFor(name, promise) {
      waits.push(name)
      try {
        return await promise
      } finally {
        waits.splice(waits.indexOf(name), 1)
      }
    },
    waitedFor: () => atAbort ?? waitText(),
  }
}

/** Runs `work` so that all it starts, however late, belongs to the scope. */
export function inScope<T>(scope: Scope, work: () => T): T {
  return current.run(scope, work)
}

/**
 * Assigns console output and uncaught errors of a collector to its run.
 * @param ownerless scope of those that belong to no run
 */
export function catchStrays(ownerless: Scope): void {
  const owner = () => current.getStore() ?? ownerless
  process.on('uncaughtException', error => owner().fail(error))
  process.on('unhandledRejection', reason => {
    // A read that failed after it was needed was reported by the failure of the needed one.
    const level = reason instanceof Fault ? 'debug' : 'warn'
    owner().line(level, `unhandled promise rejection: ${thrownText(reason).message}`)
  })
  const streamFor = (level: ChildLogLevel) =>
    new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        for (const text of String(chunk).trimEnd().split('\n')) owner().line(level, text)
        done()
      },
    })
  globalThis.console = new Console({ stdout: streamFor('info'), stderr: streamFor('warn') })
}

/** Facts of a log line; further ones are dropped. */
const factsMax = 50

function plainFacts(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    const entries = Object.entries(facts).slice(0, factsMax)
    return Object.fromEntries(entries.map(([name, value]) => [cut(name), plain(value)]))
  } catch {
    return {}
  }
}

function plain(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  return typeof value === 'string' ? cut(value) : shown(value)
}

export type Settled<T = unknown> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** The signal was aborted first. */
  | { readonly kind: 'late' }

/** Event-loop ticks a collector's code has to settle after its signal is aborted. */
const ticksAfterAbort = 10

/**
 * Result of a promise, or `late` when it has not settled at the abort of its signal. A rejection caused by the abort is
 * late, too.
 *
 * @param ticks event-loop ticks it has to settle after the abort
 */
export async function settledOrLate<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  ticks = ticksAfterAbort,
): Promise<Settled<T>> {
  const settlement = promise.then(
    (value): Settled<T> => ({ kind: 'value', value }),
    (error: unknown): Settled<T> => (signal.aborted ? { kind: 'late' } : { kind: 'threw', error }),
  )
  return Promise.race([settlement, lateAfter(signal, ticks)])
}

async function lateAfter(signal: AbortSignal, ticks: number): Promise<{ readonly kind: 'late' }> {
  if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  for (let ticked = 0; ticked < ticks; ticked += 1) await tick()
  return { kind: 'late' }
}
