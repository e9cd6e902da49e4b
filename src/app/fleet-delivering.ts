import type { Destination } from '../delivery/destination.ts'
import { DeliveryLoop } from '../delivery/loop.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import { FleetPacer } from '../fleet/fleet-pacer.ts'
import type { JobEngine } from '../fleet/job-engine.ts'
import type { PushBack } from '../fleet/push-back.ts'
import { RoleClaim } from '../fleet/role-claim.ts'
import type { Batch } from '../model/batch.ts'
import { Fault } from '../model/fault.ts'
import type { FleetStore } from '../outbox/contract/fleet-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Roles } from '../outbox/contract/role.ts'
import type { AppContext } from './context.ts'
import type { MakeDelivery } from './deliveries.ts'
import type { FleetIdentity } from './fleet-identity.ts'

/** Dependencies of `fleetDelivering`. */
export interface FleetDeliveringDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'delivery' | 'health'>
  readonly client: ServiceClient
  /** Takes what was sent without the role. */
  readonly pushBack: Pick<PushBack, 'add'>
  readonly store: FleetStore
  readonly engine: JobEngine
  readonly roles: Pick<Roles, 'deliverer'>
  readonly make: MakeDelivery
  readonly identity: Pick<FleetIdentity, 'isOfFleet' | 'keyName'>
  readonly failed: (error: unknown) => void
}

/** The service's client, whose pushes are broken off when another daemon may have the role. */
function clientWhileHeld(client: ServiceClient, role: () => Pick<RoleClaim, 'whileHeld'>): ServiceClient {
  return {
    host: client.host,
    push: (body, key, stop) => role().whileHeld(lost => client.push(body, key, AbortSignal.any([stop, lost]))),
    register: (...asked) => client.register(...asked),
    validateKey: (...asked) => client.validateKey(...asked),
    widget: (...asked) => client.widget(...asked),
    close: () => client.close(),
  }
}

/**
 * Delivers to a destination while this daemon has the role of that, which one of the fleet has at a time.
 *
 * @returns the claim of the role, which stops it
 */
export function fleetDelivering(destination: Destination, deps: FleetDeliveringDeps): RoleClaim {
  const { context, outbox, client, pushBack, store, engine, roles, make, identity, failed } = deps
  const { config, time, log } = context
  const { name } = destination
  const facts = { destination: name }
  const own = {
    client: clientWhileHeld(client, () => role),
    onPushed: (batch: Batch) => (role.isHeld ? undefined : pushBack.add([...batch])),
  }
  const begin = async () => {
    if (await roles.deliverer()) {
      throw new Fault('outbox-held', 'a command delivers from this outbox', { fix: 'it ends when it sees the daemon' })
    }
    // The daemon before may have sent what is due.
    outbox.delivery.maybeSent('all')
    const pacer = new FleetPacer({
      store,
      role,
      destination: identity.keyName(destination),
      perSecond: config.delivery.pacePerSecond,
      time,
    })
    const loop = new DeliveryLoop([make(destination, pacer, own)], time, log, outbox.health)
    log.info(facts, 'this daemon delivers now')
    return async () => {
      await loop.stop()
      log.info(facts, 'this daemon does not deliver any more')
    }
  }
  const role: RoleClaim = new RoleClaim({
    engine,
    role: `deliver/${name}`,
    time,
    failed,
    isAble: () => identity.isOfFleet,
    work: { begin },
  })
  return role
}
