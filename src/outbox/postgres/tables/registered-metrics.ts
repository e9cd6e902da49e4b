import { hourNumber } from '../../../model/hour.ts'
import type { Accepted, MetricDescription } from '../../contract/metrics.ts'
import { describedFrom, type KnownMetric } from '../../rows/known-metric.ts'
import type { Transaction } from '../connection/transaction.ts'
import { metricsById } from './known-metrics.ts'
import { lockProtocols, type NumbersByName } from './locks.ts'

/** Metrics of a collector that are to be known. */
export interface Registered {
  readonly accepted: readonly Accepted[]
  /** Id and number of the collector. */
  readonly collector: string
  readonly collectorNumber: number
}

interface NewMetricRow extends MetricDescription {
  readonly id: string
  readonly protocolId: string
  readonly collector: number
  readonly since: number
}

/** Facts about metrics in a transaction that holds the locks of their protocols, and what it changes of them. */
export class RegisteredMetrics {
  readonly #known: Map<string, KnownMetric>
  readonly #described = new Map<string, readonly [metric: number, since: number, MetricDescription]>()

  private constructor(known: Map<string, KnownMetric>) {
    this.#known = known
  }

  /** Locks the protocols of metrics, and inserts those that are new. A known one is given to its latest collector. */
  static async of(transaction: Transaction, all: readonly Registered[]): Promise<RegisteredMetrics> {
    const metrics = all.flatMap(({ accepted }) => accepted.map(({ metric }) => metric))
    const protocolIds = [...new Set(metrics.map(({ protocolId }) => protocolId))]
    const [protocols, known] = await Promise.all([
      lockProtocols(transaction, protocolIds),
      metricsById(
        transaction,
        metrics.map(({ id }) => id),
      ),
    ])
    const registered = new RegisteredMetrics(known)
    await registered.#add(transaction, all, await withNew(transaction, protocols, protocolIds))
    registered.#give(transaction, all)
    return registered
  }

  /** A metric by its id. */
  metric(id: string): KnownMetric {
    const known = this.#known.get(id)
    if (!known) throw new Error(`no metric ${id} is known to the outbox`)
    return known
  }

  /**
   * Records a metric's module from an hour on, if it differs; its unit is the same. The module of a past hour does not
   * change.
   */
  describeFrom(id: string, hour: number, description: MetricDescription): void {
    const known = this.metric(id)
    // The unit is the same, unless it was lost: what a later hour has does not matter.
    for (const described of describedFrom(known, hour, description, () => false)) {
      const others = known.descriptions.filter(({ since }) => since !== hour)
      this.#known.set(id, { ...known, descriptions: [...others, described] })
      this.#described.set(`${known.number} ${hour}`, [known.number, hour, described])
    }
  }

  /** Stores the changes. */
  write(transaction: Transaction): void {
    insertDescriptions(transaction, [...this.#described.values()])
  }

  async #add(transaction: Transaction, all: readonly Registered[], protocols: NumbersByName): Promise<void> {
    const rows = newOnes(all, this.#known)
    if (rows.length === 0) return
    const numbers = await transaction.query<{ id: number; name: string }>(
      `INSERT INTO tidegauge.metric (name, protocol, collector)
       SELECT name, protocol, collector FROM unnest($1::text[], $2::integer[], $3::integer[]) WITH ORDINALITY AS added (name, protocol, collector, place)
       ORDER BY place RETURNING id, name`,
      [rows.map(({ id }) => id), rows.map(row => protocols.get(row.protocolId) ?? 0), rows.map(row => row.collector)],
    )
    const byName = new Map(numbers.map(({ id, name }) => [name, id]))
    insertDescriptions(
      transaction,
      rows.map(row => [byName.get(row.id) ?? 0, row.since, row]),
    )
    const collectors = new Map(all.map(({ collector, collectorNumber }) => [collectorNumber, collector]))
    for (const { id, protocolId, collector, since, unit, module } of rows) {
      this.#known.set(id, {
        ...{
          number: byName.get(id) ?? 0,
          id: id as KnownMetric['id'],
          protocolId,
          protocol: protocols.get(protocolId) ?? 0,
        },
        collector: collectors.get(collector) ?? '',
        descriptions: [{ since, ...(unit !== undefined && { unit }), ...(module !== undefined && { module }) }],
      })
    }
  }

  #give(transaction: Transaction, all: readonly Registered[]): void {
    const given = new Map<number, number>()
    for (const { accepted, collector, collectorNumber } of all)
      for (const { metric } of accepted) {
        const known = this.metric(metric.id)
        if (known.collector === collector) continue
        given.set(known.number, collectorNumber)
        this.#known.set(metric.id, { ...known, collector })
      }
    if (given.size === 0) return
    transaction.later(
      `UPDATE tidegauge.metric SET collector = given.collector FROM unnest($1::integer[], $2::integer[]) AS given (id, collector)
       WHERE metric.id = given.id`,
      [[...given.keys()], [...given.values()]],
    )
  }
}

/** Inserts the protocols that are not known yet. @returns the numbers of all */
async function withNew(
  transaction: Transaction,
  known: NumbersByName,
  protocolIds: readonly string[],
): Promise<NumbersByName> {
  const added = protocolIds.filter(id => !known.has(id)).toSorted()
  if (added.length === 0) return known
  transaction.later(
    `INSERT INTO tidegauge.protocol (name) SELECT name FROM unnest($1::text[]) AS name ORDER BY name ON CONFLICT DO NOTHING`,
    [added],
  )
  return new Map([...known, ...(await lockProtocols(transaction, added))])
}

/** One row for each id that is not known, of its first metric. */
function newOnes(all: readonly Registered[], known: ReadonlyMap<string, KnownMetric>): NewMetricRow[] {
  const rows = new Map<string, NewMetricRow>()
  for (const { accepted, collectorNumber } of all)
    for (const { metric } of accepted) {
      if (known.has(metric.id) || rows.has(metric.id)) continue
      const { id, protocolId, unit, module } = metric
      rows.set(id, {
        ...{ id, protocolId, collector: collectorNumber, since: hourNumber(metric.hour) },
        ...(unit !== undefined && { unit }),
        ...(module !== undefined && { module }),
      })
    }
  return [...rows.values()]
}

function insertDescriptions(
  transaction: Transaction,
  rows: readonly (readonly [metric: number, since: number, MetricDescription])[],
): void {
  if (rows.length === 0) return
  transaction.later(
    `INSERT INTO tidegauge.description (metric, since, unit, module)
     SELECT * FROM unnest($1::integer[], $2::integer[], $3::text[], $4::text[])
     ON CONFLICT (metric, since) DO UPDATE SET unit = excluded.unit, module = excluded.module`,
    [
      rows.map(([metric]) => metric),
      rows.map(([, since]) => since),
      rows.map(([, , { unit }]) => unit ?? null),
      rows.map(([, , { module }]) => module ?? null),
    ],
  )
}
