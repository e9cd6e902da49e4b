import type { Config, ProtocolConfig } from '../config/config.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import type { Time } from '../edge/time.ts'
import type { ClockVerdict } from '../model/clock.ts'
import { Fault } from '../model/fault.ts'
import type { ReadMetric } from '../model/wire.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Counters } from '../telemetry/counters.ts'
import type { ConfigurationState, EndpointState, KeptHours } from './snapshot.ts'

/** Input of an observation. */
export interface Observed {
  readonly config: Config
  readonly outbox: Pick<Outbox, 'status' | 'health' | 'sharedOutbox'>
  /** As in `ServiceState.host`. */
  readonly host: string
  readonly destinations: readonly string[]
  readonly version: string
  /** When the loops were started, in milliseconds since 1970; a reload starts them again. */
  readonly startedAtMs: number
  /** When the process started, in milliseconds since 1970. */
  readonly processStartedAtMs: number
  readonly configuration: ConfigurationState
  readonly nowMs: number
  /** The last answer about each protocol's widget, by protocol id. */
  readonly widgets: ReadonlyMap<string, WidgetRead | WidgetUnread>
  /** Whether this machine's clock is believed; absent without a clock watch. */
  readonly clock?: ClockVerdict
  /** Hours whose values wait on this machine for the database; absent where the outbox is in a folder. */
  readonly kept?: KeptHours
  /** Answers of the receivers of reports, by name; absent where this process sends none. */
  readonly reports?: Counters['reports']
  /** Sentences about a fleet that does not work, as this daemon sees it; absent outside one. */
  readonly fleetTroubles?: readonly string[]
  /** All troubles of the fleet, as the running daemon has found them; absent in it, and where none runs. */
  readonly daemonTroubles?: readonly string[]
  /** As `Reader.isUnattended`. */
  readonly isUnattended?: boolean
  /** Whether it is not known which configuration the daemon has: then it is blamed for no hour that it did not plan. */
  readonly isForceUnknown?: boolean
  /** State of the endpoints; empty when this process reads no chain. */
  readonly endpoints: readonly EndpointState[]
}

type InForce = Pick<ConfigurationState, 'file' | 'digest'>

/** Reload state of one process: the configuration in force, and a refused newer one. */
export class Reloads {
  /** When the process started, in milliseconds since 1970. */
  readonly startedAtMs: number
  #state: ConfigurationState

  constructor({ file, digest }: InForce, nowMs: number) {
    this.startedAtMs = nowMs
    this.#state = { file, digest, inForceSinceMs: nowMs }
  }

  get state(): ConfigurationState {
    return this.#state
  }

  /** Records that another configuration is in force: an earlier refusal no longer matters. */
  taken({ file, digest }: InForce, nowMs: number): void {
    this.#state = { file, digest, inForceSinceMs: nowMs }
  }

  /**
   * Records that the changed file cannot be used; the previous configuration stays in force until the file is repaired.
   *
   * @param isWaiting whether it is sound, and its database cannot be used
   */
  refused(reason: string, nowMs: number, isWaiting = false): void {
    this.#state = { ...this.#state, refused: { atMs: nowMs, reason, ...(isWaiting && { isWaiting }) } }
  }
}

/** The widget of a protocol as the service showed it at an instant. */
export interface WidgetRead {
  /** When it was read, in milliseconds since 1970. */
  readonly atMs: number
  readonly metrics: readonly ReadMetric[]
}

/** Why a protocol's widget could not be read, and what to do. */
export interface WidgetUnread {
  /** A sentence without its full stop. */
  readonly unread: string
}

/** Age above which a widget is read from the service again when the page is requested. */
const freshMs = 5_000

/** Longest wait for the service when the page is requested; a late answer is used for the next request. */
const patienceMs = 2_000

/** Cache of the service's widgets, read when the page is requested. Never rejects: of an unreadable widget it says why. */
export class Widgets {
  readonly #reads = new Map<string, WidgetRead | WidgetUnread>()
  readonly #config: Config
  readonly #client: ServiceClient
  readonly #keyOf: (protocolId: string) => string
  readonly #time: Time
  #triedMs = Number.NEGATIVE_INFINITY
  #reading: Promise<unknown> = Promise.resolve()

  constructor(config: Config, client: ServiceClient, keyOf: (protocolId: string) => string, time: Time) {
    this.#config = config
    this.#client = client
    this.#keyOf = keyOf
    this.#time = time
  }

  async read(): Promise<Observed['widgets']> {
    if (Math.abs(this.#time.nowMs() - this.#triedMs) >= freshMs) {
      this.#triedMs = this.#time.nowMs()
      this.#reading = Promise.all(this.#config.protocols.map(protocol => this.#readOne(protocol)))
    }
    const patience = new AbortController()
    await Promise.race([this.#reading, this.#time.sleep(patienceMs, patience.signal).catch(() => {})])
    patience.abort()
    return this.#reads
  }

  async #readOne(protocol: ProtocolConfig): Promise<void> {
    const { id } = protocol
    try {
      const metrics = await this.#client.widget(id, this.#keyOf(id))
      this.#reads.set(id, { atMs: this.#time.nowMs(), metrics })
    } catch (error) {
      // The page then shows the outbox's values, without the service's changes.
      this.#reads.set(id, { unread: unreadText(error, protocol) })
    }
  }
}

/** Why a widget could not be read; a protocol that the daemon registers is no trouble. */
function unreadText(error: unknown, { register }: ProtocolConfig): string {
  if (!(error instanceof Fault)) return 'the service could not be read'
  const { message, facts, fix } = error
  if (register && facts['status'] === 404) return `${message} yet: its first push registers it`
  return fix === undefined ? message : `${message}: ${fix}`
}
