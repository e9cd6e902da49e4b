import type { Destination } from '../delivery/destination.ts'
import { DeliveryLoop } from '../delivery/loop.ts'
import type { ServiceClient } from '../edge/service-client.ts'
import { FleetPacer } from '../fleet/fleet-pacer.ts'
import type { PushBack } from '../fleet/push-back.ts'
import type { RoleClaim } from '../fleet/role-claim.ts'
import type { RoleClaims } from '../fleet/role-claims.ts'
import type { Batch } from '../model/batch.ts'
import { Fault } from '../model/fault.ts'
import type { Answer } from '../model/verdict.ts'
import { deliverRole, type FleetStore } from '../outbox/contract/fleet-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Roles } from '../outbox/contract/role.ts'
import type { AppContext } from './context.ts'
import type { MakeDelivery } from './deliveries.ts'
import type { FleetIdentity } from './fleet-identity.ts'

/** Dependencies of `fleetDelivering`. */
export interface FleetDeliveringDeps {
  readonly context: AppContext
  readonly outbox: Pick<Outbox, 'delivery' | 'health' | 'operators'>
  readonly client: ServiceClient
  /** Takes what was sent without the role. */
  readonly pushBack: Pick<PushBack, 'add'>
  readonly store: FleetStore
  readonly claims: Pick<RoleClaims, 'claim'>
  readonly roles: Pick<Roles, 'deliverer'>
  readonly make: MakeDelivery
  readonly identity: Pick<FleetIdentity, 'isOfFleet' | 'keyName'>
}

/** Answers of what stands between: a login page, a proxy, a gateway. A 503 with `Retry-After` is the service's own. */
function isOfTheWay({ status, notBeforeMs }: Extract<Answer, { kind: 'answered' }>): boolean {
  const isRedirect = status >= 300 && status < 400
  return isRedirect || [407, 502, 504, 511].includes(status) || (status === 503 && notBeforeMs === undefined)
}

/**
 * The service's client, whose pushes are broken off when another daemon may have the role. A request that does not reach the
 * service is a failure of this daemon, which another one may not have.
 */
export function clientWhileHeld(
  client: ServiceClient,
  role: () => Pick<RoleClaim, 'noteResult' | 'whileHeld'>,
): ServiceClient {
  const noted = async (answer: Promise<Answer>, ...stops: readonly (AbortSignal | undefined)[]) => {
    const known = await answer
    const isReached = known.kind === 'answered' && !isOfTheWay(known)
    if (known.kind === 'answered' || !stops.some(stop => stop?.aborted)) role().noteResult(isReached)
    return known
  }
  return {
    host: client.host,
    push: (body, key, stop) =>
      role().whileHeld(lost => noted(client.push(body, key, AbortSignal.any([stop, lost])), stop, lost)),
    register: (registration, key, stop) => noted(client.register(registration, key, stop), stop),
    validateKey: (key, stop) => noted(client.validateKey(key, stop), stop),
    widget: (...asked) => client.widget(...asked),
    close: () => client.close(),
  }
}

/**
 * Delivers to a destination the protocols that this daemon has the role of, which one of the fleet has at a time.
 *
 * @returns the claim of the roles, which stops it
 */
export function fleetDelivering(destination: Destination, deps: FleetDeliveringDeps): RoleClaim {
  const { context, outbox, client, pushBack, store, claims, roles, make, identity } = deps
  const { config, time, log } = context
  const { name } = destination
  const own = {
    client: clientWhileHeld(client, () => role),
    onPushed: (batch: Batch) => (role.isHeld ? undefined : pushBack.add([...batch])),
  }
  const readKey = () => {
    try {
      return destination.readKey()
    } catch (error) {
      role.noteResult(false)
      throw error
    }
  }
  const begin = async (held: readonly string[]) => {
    if (await roles.deliverer()) {
      throw new Fault('outbox-held', 'a command delivers from this outbox', { fix: 'it ends when it sees the daemon' })
    }
    // The daemon before may have sent what is due.
    outbox.delivery.maybeSent('all')
    const pacer = new FleetPacer({
      store,
      role,
      destination: () => identity.keyName(destination),
      perSecond: config.delivery.pacePerSecond,
      time,
    })
    const protocols = destination.protocols.filter(({ id }) => held.includes(deliverRole(id)))
    const loop = new DeliveryLoop([make({ name, readKey, protocols }, pacer, own)], time, log, outbox.health)
    const facts = { destination: name, protocols: protocols.map(({ id }) => id) }
    log.info(facts, 'this daemon delivers now')
    return async () => {
      await loop.stop()
      log.info(facts, 'this daemon does not deliver any more')
    }
  }
  const givingBack = async () => {
    log.warn({ destination: name }, 'this daemon does not reach the service: another one is let try')
    // It does not wait as long as this one would have.
    await outbox.operators.hurry()
  }
  const role: RoleClaim = claims.claim({
    roles: destination.protocols.map(({ id }) => deliverRole(id)),
    work: { begin, givingBack },
    isAble: () => identity.isOfFleet,
  })
  return role
}
