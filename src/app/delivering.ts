import type { Delivery } from '../delivery/delivery.ts'
import { DeliveryLoop } from '../delivery/loop.ts'
import type { Time } from '../edge/time.ts'
import { faultLine } from '../model/fault.ts'
import { bothRoles, deliveryHolder, type Role, type RoleSeeker, takeDeliveryRoleAsDaemon } from '../outbox/file/lock.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { Upkeep, type UpkeepNews } from '../outbox/upkeep.ts'
import type { AppContext } from './context.ts'
import { tellUpkeep } from './outbox-news.ts'

/** How often a daemon looks whether the command that delivers in its place has ended. */
const roleLookMs = 500

/** What delivering works with. */
export interface DeliveringDeps {
  /** Tries to take the delivery role; `undefined` while a command has it. */
  readonly take: () => Role | undefined
  /** Starts what only one process may do. @returns how it is stopped; complete when that returns */
  readonly begin: (role: Role) => () => Promise<void>
  /** A try failed: it is tried again. */
  readonly failed: (error: unknown) => void
  readonly time: Time
}

/**
 * What only the process with the delivery role does, from the moment on that it has the role. A command that delivers gives
 * it up when it sees the daemon; one that is suspended, or writes for long, does not, and the daemon collects meanwhile.
 */
export class Delivering {
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  /** @param role absent while a command has it */
  constructor(deps: DeliveringDeps, role: Role | undefined) {
    this.#running = this.#run(deps, role)
  }

  /** Complete when it returns: the role is free. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#running
  }

  async #run(deps: DeliveringDeps, first: Role | undefined): Promise<void> {
    const { signal } = this.#stopping
    let role = first
    while (!role && !signal.aborted) {
      await deps.time.sleep(roleLookMs, signal).catch(() => {})
      if (!signal.aborted) role = this.#take(deps)
    }
    if (!role) return
    try {
      let end = this.#begin(deps, role)
      // Another process may hold the file's write lock just now.
      while (!end && !signal.aborted) {
        await deps.time.sleep(roleLookMs, signal).catch(() => {})
        if (!signal.aborted) end = this.#begin(deps, role)
      }
      if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      await end?.()
    } finally {
      role.release()
    }
  }

  #begin({ begin, failed }: DeliveringDeps, role: Role): (() => Promise<void>) | undefined {
    try {
      return begin(role)
    } catch (error) {
      failed(error)
      return undefined
    }
  }

  #take({ take, failed }: DeliveringDeps): Role | undefined {
    try {
      return take()
    } catch (error) {
      failed(error)
      return undefined
    }
  }
}

/** What the daemon's delivering is wired with. */
export interface DeliveringParts {
  readonly context: AppContext
  readonly outbox: Outbox
  readonly daemonRole: Role
  /** Made when the role is taken. */
  readonly deliveries: () => readonly Delivery[]
  readonly seeker: () => RoleSeeker
}

/** The delivery loop and the upkeep of the outbox, as far as they run already. */
export interface StartedDelivering {
  /** Resolves when another process has taken one of the roles. */
  readonly roleLost: Promise<{ readonly kind: 'role-lost' }>
  /** Complete when it returns. */
  stop(): Promise<void>
}

/**
 * Starts the delivery loop and the upkeep of the outbox, or waits for the role that they need.
 *
 * @param role absent while a command has it
 */
export function startDelivering(parts: DeliveringParts, role: Role | undefined): StartedDelivering {
  const { context, outbox, daemonRole, deliveries, seeker } = parts
  const { config, time, log, clock } = context
  const mayPrune = () => clock?.mayPrune ?? true
  const { promise: roleLost, resolve: loseRole } = Promise.withResolvers<{ readonly kind: 'role-lost' }>()
  const told = (news: UpkeepNews) => {
    tellUpkeep(log, news)
    if (news.kind === 'role-lost') loseRole({ kind: 'role-lost' })
  }
  const begin = (own: Role) => {
    // The command may have sent what was collected meanwhile.
    if (!role) outbox.unsent.mayBeSent('all')
    // What may fail, and be tried again, comes before what runs from then on.
    const ready = deliveries()
    const both = bothRoles(daemonRole, own)
    const upkeep = new Upkeep({ outbox, role: both, keepMs: config.outbox.keepMs, time, mayPrune, told })
    const loop = new DeliveryLoop(ready, time, log, outbox.disk)
    if (!role) log.info('the command has given the delivery role up: delivering')
    return async () => {
      await upkeep.stop()
      await loop.stop()
    }
  }
  if (!role)
    log.info({ ...deliveryHolder(config.data) }, 'a command delivers from this outbox: it is asked to give way')
  let why = ''
  const failed = (error: unknown) => {
    // What breaks the outbox makes the daemon start again.
    outbox.disk.recover(error)
    const fault = faultLine(outbox.disk.explain(error))
    if (fault !== why) log.error({ fault }, 'delivery cannot begin yet: it is tried again')
    why = fault
  }
  const delivering = new Delivering({ take: () => takeDeliveryRoleAsDaemon(seeker()), begin, failed, time }, role)
  return { roleLost, stop: () => delivering.stop() }
}
