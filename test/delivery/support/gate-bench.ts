import { type ClockComparison, Gate, Pacer, type RequestSlots, ServiceClock } from '../../../src/delivery/gate.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import type { DestinationState } from '../../../src/outbox/contract/delivery-store.ts'
import { Counters } from '../../../src/telemetry/counters.ts'
import { Redactor } from '../../../src/telemetry/redactor.ts'
import type { VirtualTime } from '../../support/virtual-time.ts'
import { answered } from './answers.ts'

/** Options of a gate that differ from the usual. */
export interface GateBenchOptions {
  readonly pacePerSecond?: number
  /** The outbox's state of the destination; default: nothing. */
  readonly state?: DestinationState
  /** Of the key; default `a-key`. */
  readonly readKey?: () => string
  readonly staleKey?: () => string | undefined
  /** The service's answer about a key; default: that it is valid. */
  readonly validate?: (key: string) => Answer
  /** The retry-after of all daemons with the same key; default: there are no others. */
  readonly shared?: RequestSlots['shared']
  readonly comparison?: ClockComparison
}

/** A gate on a row in memory. */
export function gateAt(time: VirtualTime, options: GateBenchOptions = {}) {
  const { pacePerSecond = 1_000, readKey = () => 'a-key', validate = () => answered(200) } = options
  const row: DestinationState = options.state ?? { notBeforeMs: 0, probeAtMs: 0, failures: 0 }
  const bench = {
    row,
    writes: 0,
    /** Thrown by each write while it is there. */
    diskError: undefined as Error | undefined,
    checkedKeys: [] as string[],
    clock: new ServiceClock(options.comparison),
    counters: new Counters(),
    pacer: Object.assign(new Pacer(time, pacePerSecond), options.shared && { shared: options.shared }),
    /** Of a new process, on the same row. */
    newGate: () => new Gate(deps),
  }
  const deps = {
    destination: { name: 'service', readKey, ...(options.staleKey && { staleKey: options.staleKey }) },
    outbox: {
      destination: async () => bench.row,
      saveDestination: async (_: string, state: DestinationState) => {
        if (bench.diskError) throw bench.diskError
        bench.writes += 1
        bench.row = state
      },
    },
    client: {
      validateKey: async (key: string) => {
        bench.checkedKeys.push(key)
        return validate(key)
      },
    },
    pacer: bench.pacer,
    clock: bench.clock,
    counters: bench.counters,
    redactor: new Redactor(),
    time,
  }
  return Object.assign(bench, { gate: new Gate(deps) })
}
