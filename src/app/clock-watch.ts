import type { OpenChainReader } from '../chain/read/reader.ts'
import type { Config } from '../config/config.ts'
import { fileStats } from '../edge/file-stats.ts'
import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import type { ClockWitnesses, WatchedClock } from '../intake/hour-clock.ts'
import { isDevelopment } from '../model/block.ts'
import { type ClockVerdict, isPossible, witnessWaitMs } from '../model/clock.ts'
import type { Hour } from '../model/hour.ts'
import { pollMs, recollectBaseMs } from '../model/limits.ts'
import { outboxWritesMs } from '../outbox/open.ts'
import type { Log } from '../telemetry/log.ts'

/** When the outbox and the configuration were last changed, by this machine's clock. */
interface WrittenAt {
  /** In milliseconds since 1970; absent when there is no outbox. */
  readonly outboxMs?: number
  /** In milliseconds since 1970; absent when the file cannot be read. */
  readonly configuredMs?: number
}

/** Reads the times of change of the files. Call it before opening the outbox, which changes them. */
export function writtenAt({ data, file }: Pick<Config, 'data' | 'file'>): WrittenAt {
  // Other machines write to a database, by their own clocks: there the newest collected hour is the witness.
  const outboxMs = data.kind === 'folder' ? latest(outboxWritesMs(data.folder)) : undefined
  const configuredMs = fileStats(file)?.mtimeMs
  return { ...(outboxMs !== undefined && { outboxMs }), ...(configuredMs !== undefined && { configuredMs }) }
}

/**
 * The witnesses of the time in this configuration.
 *
 * @param collectedHour the newest collected hour; absent when there is none
 */
export function witnessesOf(
  config: Config,
  collectedHour: Hour | undefined,
  { outboxMs, configuredMs }: WrittenAt,
): ClockWitnesses {
  const storedMs = latest([collectedHour, outboxMs])
  return {
    service: config.service.kind === 'remote',
    chains: config.chains.some(({ id }) => !isDevelopment(id)),
    ...(storedMs !== undefined && { storedMs }),
    ...(configuredMs !== undefined && { configuredMs }),
  }
}

function latest(instants: readonly (number | undefined)[]): number | undefined {
  // An impossible instant was written by a clock that was wrong by decades.
  const known = instants.flatMap(instant => (instant !== undefined && isPossible(instant) ? [instant] : []))
  return known.length > 0 ? Math.max(...known) : undefined
}

/** Chains by their name in the configuration. */
type AskedChains = Readonly<Record<string, Pick<OpenChainReader, 'id' | 'askHead'>>>

/**
 * Asks chains for the time while the machine's clock is doubted; reports once when it is, and when it is believed
 * again.
 */
export class ClockWatch {
  readonly #clock: WatchedClock
  readonly #chains: AskedChains
  readonly #log: Log
  readonly #time: Pick<Time, 'sleep'>
  readonly #loop = new Loop(signal => this.#look(signal))
  readonly #startedMs: number
  #reported = 'believed'

  constructor(clock: WatchedClock, chains: AskedChains, log: Log, time: Pick<Time, 'sleep'> = clock) {
    this.#clock = clock
    this.#chains = chains
    this.#log = log
    this.#time = time
    this.#startedMs = clock.steadyMs()
    this.#loop.start()
  }

  /** Stops the loop; resolves when it has ended. */
  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  async #look(signal: AbortSignal): Promise<void> {
    if (this.#clock.wantsHeads()) void this.#askHeads()
    const { verdict } = this.#clock
    this.#report(verdict)
    await this.#time.sleep(verdict.kind === 'doubted' ? pollMs : recollectBaseMs, signal).catch(() => {})
  }

  /** Asks the chains. Never rejects: a chain without an answer is ignored. */
  async #askHeads(): Promise<void> {
    this.#clock.asks('chains')
    await askHeads(this.#clock, this.#chains, this.#loop.signal)
  }

  #report(verdict: ClockVerdict): void {
    // A witness is just being asked.
    const isEarly = this.#clock.steadyMs() - this.#startedMs < witnessWaitMs
    const state = stateOf(verdict)
    if (state === this.#reported || (state === 'unconfirmed' && isEarly)) return
    const was = this.#reported
    this.#reported = state
    if (verdict.kind === 'doubted') {
      const level = verdict.why === 'unconfirmed' ? 'warn' : 'error'
      this.#log[level]({ reason: verdict.reason }, 'this machine’s clock is doubted: nothing is collected meanwhile')
    } else if (verdict.remark !== undefined) {
      this.#log.warn({ reason: verdict.remark }, 'this machine’s clock differs from its witness’s')
    } else if (was !== 'believed') {
      this.#log.info('this machine’s clock is believed: collecting goes on')
    }
  }
}

/** Asks chains for their last block. Never rejects. */
export async function askHeads(clock: WatchedClock, chains: AskedChains, signal: AbortSignal): Promise<void> {
  const asked = Object.entries(chains).filter(([, { id }]) => !isDevelopment(id))
  await Promise.all(
    asked.map(async ([name, chain]) => {
      const head = await chain.askHead(signal).catch(() => undefined)
      if (head) clock.sawHead(name, head.timestampSeconds * 1000)
    }),
  )
}

function stateOf(verdict: ClockVerdict): string {
  if (verdict.kind === 'doubted') return verdict.why
  return verdict.remark === undefined ? 'believed' : 'off'
}
