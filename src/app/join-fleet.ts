import type { Time } from '../edge/time.ts'
import type { SharedTime } from '../fleet/shared-time.ts'
import type { PostgresAddress } from '../model/postgres-address.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { databaseNowMs } from '../outbox/open.ts'
import type { OutboxPlace } from '../outbox/place.ts'
import type { FleetMember, FleetMemberDeps } from './fleet-member.ts'

/** Dependencies of `joinWhereShared`. */
type JoinDeps = Omit<FleetMemberDeps, 'keptIn' | 'shared' | 'sharedTime'> & {
  /** Where the outbox is. */
  readonly at: OutboxPlace
  readonly outbox: Outbox
  /** Absent where the outbox belongs to one daemon. */
  readonly sharedTime: SharedTime | undefined
}

/** The clock of all daemons that share a database. @throws Fault of the database */
export async function sharedTimeOf(address: PostgresAddress, machine: Time): Promise<SharedTime> {
  const { SharedTime } = await import('../fleet/shared-time.ts')
  const time = new SharedTime(machine)
  await time.ask(() => databaseNowMs(address))
  return time
}

/** Makes a daemon one of a fleet where its outbox is shared; what that needs is loaded there alone. */
export async function joinWhereShared(deps: JoinDeps, stack: AsyncDisposableStack): Promise<FleetMember> {
  const { at, context, outbox, sharedTime, seen } = deps
  const { data } = context.config
  const { shared } = outbox
  if (at.kind === 'folder' || data.kind === 'folder' || !shared || !sharedTime) return { own: outbox, now: seen }
  const { joinFleet } = await import('./fleet-member.ts')
  return joinFleet({ ...deps, keptIn: data.keptIn, shared, sharedTime }, stack)
}
