import type { FaultRecord } from '../model/fault.ts'
import type { Hour } from '../model/hour.ts'
import type { MetricId } from '../model/metric.ts'
import type { LastPush } from '../outbox/contract/delivery-store.ts'
import type { Balance, MetricState, Warning } from '../outbox/contract/metrics.ts'
import type { ReportCounts } from '../telemetry/counters.ts'
import type { FleetState } from './fleet.ts'

/** Everything the status server shows, at one instant: plain values, so that page, exposition and JSON are pure. */
export interface Snapshot {
  /** Of the program, as in package.json. */
  readonly version: string
  /** Instant of the snapshot, in milliseconds since 1970. */
  readonly nowMs: number
  /** When the loops were started, in milliseconds since 1970. */
  readonly startedAtMs: number
  readonly ready: Readiness
  readonly configuration: ConfigurationState
  readonly service: ServiceState
  /** The endpoints by chain, in the order of preference; empty when this process reads no chain. */
  readonly endpoints: readonly EndpointState[]
  /** Absent where the outbox belongs to one daemon. */
  readonly fleet?: FleetState
  readonly balance: Balance
  readonly backlog: BacklogState
  /** The protocols in the configuration's order. */
  readonly protocols: readonly ProtocolState[]
  readonly hours: HourGrid
  readonly week: WeekGrid
  readonly warnings: readonly Warning[]
  /** Answers of the receivers of reports since the start; absent where this process sends none. */
  readonly reports?: readonly ({ readonly receiver: string } & Readonly<ReportCounts>)[]
}

/** The configuration in force, and a refused newer one. */
export interface ConfigurationState {
  /** Path of the file. */
  readonly file: string
  /** As `Config.digest`: a file that has another one now was saved since, and is not taken yet. */
  readonly digest: string
  /** When it was taken, at the start or at the last valid reload, in milliseconds since 1970. */
  readonly inForceSinceMs: number
  /** Why the present file cannot be used; absent when it is the one in force. */
  readonly refused?: {
    readonly atMs: number
    readonly reason: string
    /** Present when the file is sound and waits for its database. */
    readonly isWaiting?: true
  }
}

/** Hours of collectors in the local folder of a daemon of a fleet. */
export interface KeptHours {
  readonly hours: number
  readonly collectors: number
  readonly folder: string
}

/** Why a daemon is not ready, as a closed list in the order in which reasons are shown. */
export const readinessCauses = [
  'config-refused',
  'clock-wrong',
  'outbox-unread',
  'disk-full',
  'read-only',
  'locked',
  'kept-locally',
  'fleet-stuck',
  'no-daemon',
  'not-collected',
  'not-planned',
  'gap',
  'not-delivered',
  'dead',
  'held',
  'window-incomplete',
  'fleet-differs',
] as const

export type ReadinessCause = (typeof readinessCauses)[number]

/** `reasons` is empty exactly when `ok`; each reason is one sentence that says what is late and why. */
export interface Readiness {
  /** Whether the daemon is ready. */
  readonly ok: boolean
  /** Why not, one sentence each; empty when ok. */
  readonly reasons: readonly string[]
  /** The cause of each reason, in the same order; absent when ok. */
  readonly causes?: readonly ReadinessCause[]
  /** Troubles that delay nothing and wait for a person's decision, one sentence each; absent when there are none. */
  readonly warnings?: readonly string[]
}

/** State of delivery to the service. */
export interface ServiceState {
  /** `host:port` of the service, or `embedded (host:port)`. Never a key. */
  readonly host: string
  /** Absent before the first. */
  readonly lastPush?: LastPush
  /** Why delivery waits, as a sentence; absent when it does not. */
  readonly waiting?: string
  /** When it continues, in milliseconds since 1970; absent when it does not wait for an instant. */
  readonly nextAttemptMs?: number
  /**
   * Offset of the service's clock from this machine's, in milliseconds, negative when behind; absent until an answer
   * showed it.
   */
  readonly skewMs?: number
  /** The destinations that wait; empty when nothing holds pushes back. */
  readonly gates: readonly GateState[]
}

/** A hold on the pushes to a destination. */
export interface GateState {
  /** Name of the destination: `service`, or the protocol whose own key it is. */
  readonly destination: string
  /** Why delivery waits, as a sentence; absent when only an instant is known. */
  readonly waiting?: string
  /** End of the wait that the service asked for, in milliseconds since 1970; absent when it asked for none. */
  readonly retryAfterUntilMs?: number
  /** When the open breaker lets a small batch through, in milliseconds since 1970; absent when it is closed. */
  readonly probeAtMs?: number
  /** Failed flushes in a row. */
  readonly failures: number
}

/** Due metrics. */
export interface BacklogState {
  /** Protocols with due metrics, the most first. */
  readonly byProtocol: readonly {
    readonly protocolId: string
    readonly due: number
    /** Present when the configuration no longer has it: these are not delivered. */
    readonly isRemoved?: true
  }[]
  /** Metrics that should be delivered by now; absent when there are none. */
  readonly late?: { readonly oldest: Hour; readonly metrics: number }
}

/** An endpoint that a chain is read from. */
export interface EndpointState {
  /** Its name in the configuration. */
  readonly chain: string
  /** Of its address, the rest of which may be secret. */
  readonly host: string
  /**
   * `well`: it served when it was asked last. `unasked`: it was never asked. `resting`: it failed, and others are asked first.
   * `failed`: it failed, and its rest is over. `wrong-id`: it serves another chain. `quarantine`: another host
   * answered otherwise, or its logs contradict its receipts. `no-address`: it cannot serve.
   */
  readonly state: 'well' | 'unasked' | 'resting' | 'failed' | 'wrong-id' | 'quarantine' | 'no-address'
  /** Why its address cannot be read, as a sentence without its subject; absent otherwise. */
  readonly reason?: string
  /**
   * Why it could not serve when it was asked last, whether it still rests or not; absent when it served. `behind`: it
   * has no block past the hour, or no state of its last blocks; `limited`: it refused for the rate.
   */
  readonly trouble?: 'unreachable' | 'wrong-id' | 'behind' | 'pruned' | 'limited'
  /** Failures in a row with which it rested; absent when there are none. */
  readonly failuresInRow?: number
  /** End of its rest, in milliseconds since 1970; absent when it does not rest. */
  readonly restsUntilMs?: number
  /** The last block it reported, and that block's timestamp in milliseconds since 1970; absent before. */
  readonly head?: { readonly number: number; readonly atMs: number }
  /** The lowest block whose state it is known to have; absent while unknown. */
  readonly servesStateFrom?: number
  /** Its rate limit, configured or discovered; absent when there is none. */
  readonly callsPerSecondMax?: number
  /** Calls in one request, at most; absent while its address cannot be read. */
  readonly batchCallsMax?: number
  /** Calls sent since the start, by their outcome; absent while its address cannot be read. */
  readonly calls?: Readonly<Record<'answered' | 'error' | 'limited' | 'unanswered', number>>
}

/** A protocol's widget. */
export interface ProtocolState {
  readonly id: string
  /** Display name. */
  readonly name: string
  /** URL. Absent when none is configured. */
  readonly logo?: string
  /** Present when the configuration no longer has it: its name is its id. */
  readonly isRemoved?: true
  readonly metrics: readonly WidgetMetric[]
  /** Its configured collectors without a value in the hours shown, each with why; absent when all have one. */
  readonly withoutValue?: readonly { readonly collector: string; readonly reason: string; readonly fix?: string }[]
  /**
   * When the widget was read from the service, in milliseconds since 1970; absent when it was not, then values are the
   * outbox's.
   */
  readonly readAtMs?: number
  /** Why the widget could not be read; absent when it was, and while the service has not answered. */
  readonly unread?: string
}

/** One metric as the widget shows it. */
export interface WidgetMetric {
  readonly id: MetricId
  /** The part of the metric id after the protocol. */
  readonly label: string
  /** Absent when there is none. */
  readonly value?: number
  /** Absent when it has none. */
  readonly unit?: string
  /** The service's answer; of a value of the outbox the difference to the hour before. Absent when there is none. */
  readonly change1h?: number
  /** The service's answer; of a value of the outbox the difference to 24 hours before. Absent when there is none. */
  readonly change24h?: number
  /** Hour of the value; absent without one. */
  readonly hour?: Hour
  /** The next hour that is expected, where not every hour is. */
  readonly nextHour?: Hour
  /** State of the value in the outbox; absent when `value` is the service's. */
  readonly state?: MetricState
  /** Present when the configuration no longer has its collector. */
  readonly isRemoved?: true
  /** The last 48 hours, oldest first, ending with the current hour; `null` where there is no value, or it was not sent. */
  readonly curve: readonly (number | null)[]
}

export type CellState = 'due' | 'collected' | 'delivered' | 'gap' | 'dead' | 'held' | 'unexpected'

/** Hours × collectors. Each row's cells are in the order of `hours`. */
export interface HourGrid {
  /** The last 48 hours, oldest first. */
  readonly hours: readonly Hour[]
  readonly rows: readonly {
    readonly collector: string
    readonly protocolId: string
    readonly cells: readonly HourCell[]
  }[]
}

/** One collector's hour. */
export interface HourCell {
  readonly state: CellState
  /** Failed attempts so far. */
  readonly attempts: number
  /** Fault of the last attempt; absent without one. */
  readonly fault?: FaultRecord
}

/** The last seven days of hours × collectors, the configured ones first. */
export interface WeekGrid {
  readonly from: Hour
  /** The current hour. */
  readonly to: Hour
  readonly rows: readonly WeekRow[]
}

/** One collector's seven days. */
export interface WeekRow {
  readonly collector: string
  readonly protocolId: string
  /** Present when the configuration no longer has it. */
  readonly isRemoved?: true
  /** Oldest first, without a hole between them. */
  readonly runs: readonly HourStretch[]
}

/** Consecutive hours in one state for one reason; numbers in it may differ. */
export interface HourStretch {
  readonly from: Hour
  /** Number of hours. */
  readonly hours: number
  readonly state: CellState
  /** Most failed attempts of an hour; absent when it did not fail. */
  readonly attempts?: number
  /** Fault of the newest hour; absent without one. */
  readonly fault?: FaultRecord
  /** Why a metric of the newest hour is dead or held; absent when there is none. */
  readonly reason?: string
}
