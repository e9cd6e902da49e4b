import type { Hour } from '../../../model/hour.ts'
import type { Metric } from '../../../model/metric.ts'
import type { Backlog } from '../../contract/balance.ts'
import type { DeliveryStore, SentBefore, StillDue } from '../../contract/delivery-store.ts'
import type { DestinationState } from '../../contract/destination.ts'
import type { MetricKey } from '../../contract/metrics.ts'
import type { MetricVerdicts } from '../../contract/outcome.ts'
import type { DueWanted } from '../../contract/selections.ts'
import type { PostgresDatabase } from '../connection/database.ts'
import { databaseTrouble } from '../connection/errors.ts'
import type { PostgresHealth } from '../connection/health.ts'
import { alone } from '../tables/alone.ts'
import { backlogOf } from '../tables/backlog.ts'
import { correctedOf } from '../tables/corrections.ts'
import { destinationState, saveDestination, silenceOthers } from '../tables/destinations.ts'
import { dueHour, dueMetrics, stillDue } from '../tables/due-metrics.ts'
import { hasDelivered, lastDelivered, presentMetric } from '../tables/stored-metrics.ts'
import type { UnsentMetrics } from '../tables/unsent-metrics.ts'
import { recordVerdicts } from '../tables/verdicts.ts'

/** Dependencies of `PostgresDeliveryStore`. */
export interface DeliveryStoreDeps {
  readonly database: PostgresDatabase
  readonly health: PostgresHealth
  readonly unsent: UnsentMetrics
}

/** The outbox for delivery, in PostgreSQL. */
export class PostgresDeliveryStore implements DeliveryStore {
  readonly #database: PostgresDatabase
  readonly #health: PostgresHealth
  readonly #unsent: UnsentMetrics
  #looks = 0

  constructor({ database, health, unsent }: DeliveryStoreDeps) {
    this.#database = database
    this.#health = health
    this.#unsent = unsent
  }

  async dueHour(which: 'oldest' | 'newest', protocolIds: readonly string[], latest: Hour): Promise<Hour | undefined> {
    return dueHour(alone(this.#database), which, protocolIds, latest)
  }

  due(wanted: DueWanted, limit: number): Promise<readonly Metric[]> {
    return this.#database.read(reading => dueMetrics(reading, wanted, limit))
  }

  /** Each look has a stamp of its own: other processes may write, and nothing cheaper would show that. */
  async stillDue<T extends MetricKey>(metrics: readonly T[]): Promise<StillDue<T>> {
    this.#looks += 1
    const stamp = `${this.#looks}`
    return { metrics: metrics.length === 0 ? metrics : await stillDue(alone(this.#database), metrics), stamp }
  }

  present(metric: MetricKey): Promise<Metric | undefined> {
    return this.#database.read(reading => presentMetric(reading, metric))
  }

  lastDelivered(protocolIds: readonly string[], hour: Hour): Promise<Metric | undefined> {
    return this.#database.read(reading => lastDelivered(reading, protocolIds, hour))
  }

  hasDelivered(protocolIds: readonly string[]): Promise<boolean> {
    return hasDelivered(alone(this.#database), protocolIds)
  }

  async sentBefore(metrics: readonly MetricKey[]): Promise<readonly SentBefore[]> {
    const corrected = await correctedOf(alone(this.#database), metrics)
    return metrics.map((metric, index) => {
      if (corrected.has(index)) return 'corrected'
      return this.#unsent.has(metric) ? 'no' : 'unknown'
    })
  }

  maybeSent(metrics: readonly MetricKey[] | 'all'): void {
    this.#unsent.mayBeSent(metrics)
  }

  async recordVerdicts(verdicts: MetricVerdicts, nowMs: number): Promise<void> {
    // They survive the end of the process; a power cut may undo the latest, and those metrics are sent again.
    const write = (all: MetricVerdicts) =>
      this.#database.write(transaction => recordVerdicts(transaction, all, nowMs), 'unsynced')
    await this.#health.writing(0, async () => {
      try {
        await write(verdicts)
      } catch (error) {
        if (databaseTrouble(error) !== 'other') throw error
        // A verdict counts, also where the database does not take its words.
        await write(withoutWords(verdicts))
      }
    })
    this.#unsent.mayBeSent([...verdicts.delivered, ...verdicts.dead.map(({ metric }) => metric)])
  }

  destination(name: string): Promise<DestinationState> {
    return destinationState(alone(this.#database), name)
  }

  saveDestination(name: string, state: DestinationState): Promise<void> {
    return saveDestination(this.#database, name, state)
  }

  silenceOtherDestinations(names: readonly string[]): Promise<void> {
    return silenceOthers(this.#database, names)
  }

  backlog(): Promise<Backlog> {
    return this.#database.read(backlogOf)
  }
}

function withoutWords({ delivered, dead }: MetricVerdicts): MetricVerdicts {
  const reason = 'the service refused it, in words that the database does not take'
  return { delivered, dead: dead.map(letter => ({ ...letter, reason })), warnings: [] }
}
