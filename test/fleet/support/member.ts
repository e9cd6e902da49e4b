import { onTestFinished } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { FleetIntakeStore, LocalHours } from '../../../src/fleet/fleet-intake-store.ts'
import { CollectorLanes } from '../../../src/fleet/lane.ts'
import { LaneClaims } from '../../../src/fleet/lane-claims.ts'
import { Fault } from '../../../src/model/fault.ts'
import { type Hour, hourAfter } from '../../../src/model/hour.ts'
import type { CollectionOutcome, DueHour, HourPlan } from '../../../src/outbox/contract/hours.ts'
import { LocalOutcomes } from '../../../src/outbox/local-outcomes.ts'
import { PostgresFleetStore } from '../../../src/outbox/postgres/fleet-store.ts'
import { openPostgresOutbox } from '../../../src/outbox/postgres/postgres-outbox.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { silentLog } from '../../support/log.ts'
import { anHour, metrics } from '../../support/metrics.ts'
import { addressOf } from '../../support/postgres/place.ts'
import { engineOn } from './engines.ts'

/** A collector of a member's configuration, and the chain that its options name. */
export interface MemberCollector {
  readonly id: string
  readonly chain: string
}

/** A daemon of a fleet as its intake sees the outbox, without the loop. It works all lanes of its collectors. */
export async function memberOn(
  address: string,
  collectors: readonly MemberCollector[],
  works: () => boolean = () => true,
  outcomes = new LocalOutcomes(temporaryFolder()),
) {
  const engine = engineOn(address)
  const outbox = await openPostgresOutbox(addressOf(address))
  onTestFinished(() => outbox.close())
  const store = new PostgresFleetStore(outbox.database)
  const configured = collectors.map(({ id, chain }) => ({ id, use: 'contract-read', options: { chain } }))
  const lanes = new CollectorLanes(configured, 'eu-1', store)
  const failures: unknown[] = []
  const failed = (error: unknown) => void failures.push(error)
  const worked = () => (works() ? [...lanes.all] : [])
  const withDue = async () => worked()
  const hasOthers = () => true
  const claims = new LaneClaims({ engine, lanes: worked, withDue, hasOthers, time: systemTime, failed })
  onTestFinished(() => claims.stop())
  const local = new LocalHours({
    ...{ store, outcomes, works, log: silentLog },
    intake: outbox.intake,
    health: outbox.health,
  })
  const deps = { store, engine, claims, lanes, local, failed, checksFinality: () => true }
  const intake = new FleetIntakeStore({ ...deps, intake: outbox.intake })
  const ids = collectors.map(({ id }) => id)
  const planNow = (id: string) => intake.planHours({ ...planOf(id), oldest: anHour })
  return {
    intake,
    outbox,
    outcomes,
    /** Plans the current hour of a collector that reads only "now". */
    planNow,
    engine,
    claims,
    failures,
    plan: (...only: readonly string[]) =>
      Promise.all((only.length > 0 ? only : ids).map(id => intake.planHours(planOf(id)))),
    due: async (nowMs: number = anHour, looked: readonly string[] = ids, underWay: readonly DueHour[] = []) =>
      (await intake.dueHours({ collectors: looked, current: anHour, nowMs, limit: 5, underWay })).map(
        ({ collector, hour }) => `${collector} ${(hour - anHour) / 3_600_000}`,
      ),
  }
}

function planOf(collector: string): HourPlan {
  const gapReason = new Fault('hour-too-old', 'it is too old')
  return { collector, since: hourAfter(anHour, -1), current: anHour, oldest: hourAfter(anHour, -24), gapReason }
}

/** The result of a collector for an hour: one metric. */
export function outcomeOf(collector: string, hour: Hour = anHour): CollectionOutcome {
  return { collector, hour, accepted: metrics(1, hour, collector).map(metric => ({ metric })) }
}
