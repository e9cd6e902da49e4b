import { type Hour, hourNumber } from '../../model/hour.ts'
import type { Metric } from '../../model/metric.ts'
import type { Backlog, DeliveryStore, DestinationState, SentBefore } from '../contract/delivery-store.ts'
import type { CommitStep, SharedDeliveryStore } from '../contract/fleet-store.ts'
import type { MetricVerdicts } from '../contract/hours.ts'
import type { DeadLetter, DueWanted, MetricKey } from '../contract/metrics.ts'
import { MetricChanges, type MetricPlace, placeKey, storedRows } from './changes.ts'
import type { UnsentMetrics } from './intake-store.ts'
import { lockProtocols, metricsById } from './metrics.ts'
import { destinationState, mayBeLost, recordWarnings, saveDestination, silenceOthers } from './notes.ts'
import { type JudgedMetric, judge } from './policy.ts'
import { rows, sql } from './sql.ts'
import {
  backlogOf,
  correctedOf,
  dueHour,
  dueMetrics,
  hasDelivered,
  lastDelivered,
  presentMetric,
  stillDue,
} from './values.ts'
import { query, type StoreDatabase, type StoreWork, together } from './work.ts'

/** The outbox for delivery. */
export class StoreDelivery implements DeliveryStore, SharedDeliveryStore {
  readonly #database: StoreDatabase
  readonly #unsent: UnsentMetrics
  readonly #steps: readonly CommitStep[]
  /** States that are being written, which takes long while another process writes. They replace the stored ones. */
  readonly #unsaved = new Map<string, DestinationState>()
  readonly #saving = new Map<string, Promise<void>>()

  /** @param steps run in each commit of verdicts, and of the state of a destination */
  constructor(database: StoreDatabase, unsent: UnsentMetrics, steps: readonly CommitStep[] = []) {
    this.#database = database
    this.#unsent = unsent
    this.#steps = steps
  }

  withStep(step: CommitStep): DeliveryStore {
    return new StoreDelivery(this.#database, this.#unsent, [step])
  }

  dueHour(which: 'oldest' | 'newest', protocolIds: readonly string[], latest: Hour): Promise<Hour | undefined> {
    // One transaction: it is asked each second.
    return this.#database.read(() => dueHour(which, protocolIds, latest))
  }

  due(wanted: DueWanted, limit: number): Promise<readonly Metric[]> {
    return this.#database.read(() => dueMetrics(wanted, limit))
  }

  async stillDue<T extends MetricKey>(metrics: readonly T[]): Promise<readonly T[]> {
    return metrics.length === 0 ? metrics : this.#database.read(() => stillDue(metrics))
  }

  present(metric: MetricKey): Promise<Metric | undefined> {
    return this.#database.read(() => presentMetric(metric))
  }

  lastDelivered(protocolIds: readonly string[], hour: Hour): Promise<Metric | undefined> {
    return this.#database.read(() => lastDelivered(protocolIds, hour))
  }

  hasDelivered(protocolIds: readonly string[]): Promise<boolean> {
    return this.#database.readEach(() => hasDelivered(protocolIds))
  }

  async sentBefore(metrics: readonly MetricKey[]): Promise<readonly SentBefore[]> {
    const corrected = await this.#database.readEach(() => correctedOf(metrics))
    return metrics.map((metric, place) => {
      if (corrected.has(place)) return 'corrected'
      return this.#unsent.has(metric) ? 'no' : 'unknown'
    })
  }

  maybeSent(metrics: readonly MetricKey[] | 'all'): void {
    this.#unsent.mayBeSent(metrics)
  }

  async recordVerdicts(verdicts: MetricVerdicts, nowMs: number, onDelayed?: () => void): Promise<void> {
    // They survive the end of the process; a power cut may undo the latest, and those metrics are sent again.
    const record = (all: MetricVerdicts) =>
      this.#database.write(() => recordVerdicts(all, nowMs), {
        ...{ durability: 'unsynced', steps: this.#steps },
        ...(onDelayed && { onDelayed }),
      })
    try {
      await record(verdicts)
    } catch (error) {
      if (this.#database.concernsAll(error)) throw error
      // A verdict counts, also where the store does not take its words.
      await record(withoutWords(verdicts))
    }
    this.#unsent.mayBeSent([...verdicts.delivered, ...verdicts.dead.map(({ metric }) => metric)])
  }

  async destination(name: string): Promise<DestinationState> {
    const stored = await this.#database.readEach(() => destinationState(name))
    // Taken after the read: it may have become newer meanwhile.
    return this.#unsaved.get(name) ?? stored
  }

  saveDestination(name: string, state: DestinationState): Promise<void> {
    this.#unsaved.set(name, state)
    const saveUnderWay = this.#saving.get(name)
    if (saveUnderWay) return saveUnderWay
    const delay = Promise.withResolvers<void>()
    const save = this.#saveLatest(name, () => delay.resolve())
    // A failure after a delay loses the state, as a power cut would.
    const outcome = Promise.race([save, delay.promise])
    this.#saving.set(name, outcome)
    save.catch(() => {})
    return outcome
  }

  async #saveLatest(name: string, onDelayed: () => void): Promise<void> {
    try {
      for (let lastWritten: DestinationState | undefined; ; ) {
        const state = this.#unsaved.get(name)
        if (!state || state === lastWritten) return
        // A write that was delayed stores the state of then.
        const write = () => {
          lastWritten = this.#unsaved.get(name) ?? state
          return saveDestination(name, lastWritten)
        }
        const durability = mayBeLost(state) ? 'unsynced' : 'synced'
        await this.#database.write(write, { durability, onDelayed, steps: this.#steps })
      }
    } finally {
      this.#unsaved.delete(name)
      this.#saving.delete(name)
    }
  }

  silenceOtherDestinations(names: readonly string[]): Promise<void> {
    return this.#database.write(() => silenceOthers(names))
  }

  backlog(): Promise<Backlog> {
    return this.#database.read(backlogOf)
  }
}

function withoutWords({ delivered, dead }: MetricVerdicts): MetricVerdicts {
  const reason = 'the service refused it, in words that the store does not take'
  return { delivered, dead: dead.map(letter => ({ ...letter, reason })), warnings: [] }
}

function* recordVerdicts(verdicts: MetricVerdicts, nowMs: number): StoreWork<void> {
  const judgements: { readonly metric: Metric; readonly letter?: DeadLetter }[] = [
    ...verdicts.delivered.map(metric => ({ metric })),
    ...verdicts.dead.map(letter => ({ metric: letter.metric, letter })),
  ]
  const [, metrics] = yield* together(
    lockProtocols(judgements.map(({ metric }) => metric.protocolId)),
    metricsById(judgements.map(({ metric }) => metric.id)),
  )
  const sentMetrics = judgements.flatMap(({ metric: { id, hour, value }, letter }): JudgedMetric[] => {
    const metric = metrics.get(id)?.number
    return metric === undefined ? [] : [{ hour: hourNumber(hour), metric, value, ...(letter && { letter }) }]
  })
  if (sentMetrics.length > 0) {
    const [stored, corrected] = yield* together(storedRows(sentMetrics), listedCorrections(sentMetrics))
    const changes = new MetricChanges(stored)
    judge(changes, sentMetrics, corrected, nowMs)
    yield* changes.write()
  }
  yield* recordWarnings(verdicts.warnings, nowMs)
}

/**
 * Keys of those metrics whose value may have changed after one of its values was sent, by this process or another. The old
 * value may still be on its way to the service. Metrics held meanwhile stay listed, because they become due again with the
 * new value.
 */
function* listedCorrections(places: readonly MetricPlace[]): StoreWork<ReadonlySet<number>> {
  const tuples = places.map(({ hour, metric }) => [hour, metric])
  const records = yield* query<MetricPlace>(sql`
    SELECT correction.hour, correction.metric
    FROM ${rows({ hour: 'integer', metric: 'integer' }, tuples)} AS wanted CROSS JOIN tidegauge.correction
    WHERE correction.hour = wanted.hour AND correction.metric = wanted.metric`)
  return new Set(records.map(placeKey))
}
