import { type Connection, connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import { deliveriesTo } from '../app/delivering.ts'
import { rolesOf } from '../app/open-outbox.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { batchMetricsMax, pollMs } from '../model/limits.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { Outbox, OutboxHealth } from '../outbox/contract/outbox.ts'
import type { Role } from '../outbox/contract/role.ts'
import { waitingSentences } from '../status/sentences.ts'
import { note } from './terminal.ts'

/** Metrics that wait for a person, with the commands that list them; empty when there are none. */
export function waitingText({ dead, held }: { readonly dead: number; readonly held: number }): string {
  return [
    ...(dead > 0 ? [`, ${dead} dead (tidegauge dead ls)`] : []),
    ...(held > 0 ? [`, ${held} held (tidegauge held ls)`] : []),
  ].join('')
}

/**
 * Delivers the due metrics, or waits while another process does. It goes on where that one ends. Reports on stderr why a
 * metric stays due.
 *
 * @param noted sentence about the process that delivers, as it was already reported
 * @returns which process delivered last
 */
export async function deliverNow(
  context: AppContext,
  outbox: Outbox,
  noted?: string,
): Promise<'own' | Deliverer['by']> {
  const { config, time } = context
  // As long as one push and the daemon's look into the outbox may take.
  const untilMs = time.nowMs() + config.delivery.timeoutMs + 2 * pollMs
  for (let [said, isRequested] = [noted, false]; ; ) {
    const taken = await roleOrDeliverer(context)
    if ('release' in taken) {
      if (await deliverAs(taken, context, outbox)) return 'own'
      continue
    }
    if (taken.sentence !== said) note(taken.sentence)
    said = taken.sentence
    if (!isRequested) await outbox.operators.requestFlush()
    isRequested = true
    if (await isDelivered(outbox.operators, time, Math.min(untilMs, time.nowMs() + pollMs))) return taken.by
    if (time.nowMs() < untilMs) continue
    const { waiting } = await outbox.operators.backlog()
    for (const reason of waitingSentences(waiting, { nowMs: time.nowMs(), isUnattended: taken.by === 'command' }))
      note(reason)
    if (waiting.length === 0) note('not delivered yet: does the daemon run with the same configuration?')
    return taken.by
  }
}

/** Waits until nothing is due. @returns whether it is so before an instant */
async function isDelivered(store: OperatorStore, time: Time, untilMs: number): Promise<boolean> {
  for (;;) {
    if ((await store.backlog()).balance.due === 0) return true
    if (time.nowMs() >= untilMs) return false
    await time.sleep(pollMs / 10)
  }
}

/** Another process that delivers. */
interface Deliverer {
  readonly by: 'daemon' | 'command'
  /** The same for a person. */
  readonly sentence: string
}

/** The delivery role; the process that has it, when another has. */
async function roleOrDeliverer({ config, time }: AppContext): Promise<Role | Deliverer> {
  const roles = await rolesOf(config)
  try {
    return await roles.takeDelivery(time.nowMs())
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'outbox-held') throw error
    const { pid = 'unknown', config: file = 'unknown', by: what, host } = error.facts
    const by = what === 'daemon' ? 'daemon' : 'command'
    const who = by === 'daemon' ? 'the running daemon' : 'another command'
    return {
      by,
      sentence: `${who} (pid ${pid}${host === undefined ? '' : ` on ${host}`}, configuration ${file}) delivers`,
    }
  }
}

/** @returns whether all had their turn; `false` when a daemon started meanwhile and has the role now */
async function deliverAs(role: Role, context: AppContext, outbox: Outbox): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  stack.defer(() => role.release())
  await outbox.health.keepReserve()
  const connection = await connect(context, stack)
  const flushing = new AbortController()
  const watch = watchForDaemon(context, () =>
    flushing.abort(new Fault('stopped', 'a daemon has started, which delivers')),
  )
  stack.defer(async () => void (await watch.end()))
  const deliveries = await deliveriesTo(connection, outbox.delivery, context)
  await Promise.all(deliveries.map(delivery => delivery.flush('asked', flushing.signal)))
  if (await watch.end()) {
    note(handedOver)
    return false
  }
  await noteWaiting(connection, context, outbox.operators)
  return true
}

/** Calls back once a daemon has started. `end` ends the watch, and resolves to whether one has. */
function watchForDaemon(
  { config, time }: AppContext,
  started: () => Promise<void> | void,
): { end(): Promise<boolean> } {
  const watching = new AbortController()
  const watch = async () => {
    while (!watching.signal.aborted) {
      const holder = rolesOf(config).then(roles => roles.daemon())
      // An unreadable folder has no daemon: it could not have created its files.
      if (await holder.catch(() => undefined)) {
        await started()
        return true
      }
      await time.sleep(pollMs, watching.signal).catch(() => {})
    }
    return false
  }
  const isThere = watch()
  return {
    end() {
      watching.abort(commandEnded)
      return isThere
    },
  }
}

const commandEnded = new Fault('stopped', 'the command has ended')

/** Reported when a command releases the delivery role. */
const handedOver = 'a daemon has started: it delivers the rest'

async function noteWaiting(connection: Connection, context: AppContext, store: OperatorStore): Promise<void> {
  for (const { name } of connection.destinations) {
    const state = await store.destination(name)
    const { notBeforeMs } = state
    const nowMs = context.time.nowMs()
    const [waiting] = waitingSentences([state], { nowMs, isUnattended: true })
    // This command ends, and no daemon runs: it has the role.
    if (waiting !== undefined) note(waiting)
    else if (notBeforeMs > nowMs) note(`the service asked to wait until ${new Date(notBeforeMs).toISOString()}`)
  }
}

/** Delivery of the hours that a command collects. */
export interface CommandDelivery {
  /**
   * `own`: this process pushes while it collects. Otherwise another one has the role: a `command`, or a `daemon`, also one
   * started meanwhile.
   */
  readonly by: 'own' | Deliverer['by']
  /** Pushes of this process so far, attempts included. */
  readonly pushes: number
  /** The delivery role; absent where another process had it from the start. */
  readonly role?: Role
  /** Pushes the rest, or waits a while for the daemon to push it. */
  finish(): Promise<void>
}

/** Takes the delivery role, or finds which process has it; what it opens is closed with the stack. */
export async function startDelivery(
  context: AppContext,
  outbox: Outbox,
  stack: AsyncDisposableStack,
): Promise<CommandDelivery> {
  const role = await roleOrDeliverer(context)
  if (!('release' in role)) {
    note(role.sentence)
    let by: CommandDelivery['by'] = role.by
    return {
      get by() {
        return by
      },
      pushes: 0,
      async finish() {
        by = await deliverNow(context, outbox, role.sentence)
      },
    }
  }
  stack.defer(() => role.release())
  await outbox.health.keepReserve()
  return await startOwn(role, context, outbox, await connect(context, stack), stack)
}

/**
 * Pushes only full batches while hours are being collected: a push of one metric costs the service as much as one of a
 * hundred.
 */
async function startOwn(
  role: Role,
  context: AppContext,
  outbox: Outbox,
  connection: Connection,
  stack: AsyncDisposableStack,
): Promise<CommandDelivery> {
  let pushes = 0
  const { client } = connection
  const counting: typeof client = {
    ...client,
    push: (...push) => {
      pushes += 1
      return client.push(...push)
    },
  }
  let metricsMin = batchMetricsMax
  const deliveries = await deliveriesTo({ ...connection, client: counting }, outbox.delivery, context, () => metricsMin)
  const [finishing, stopping] = [new AbortController(), new AbortController()]
  const pushing = deliveries.map(delivery =>
    pushUntil(delivery, finishing.signal, stopping.signal, outbox.health, context.time),
  )
  const end = async () => {
    stopping.abort(commandEnded)
    finishing.abort(commandEnded)
    await Promise.all(pushing)
  }
  let isHandedOver = false
  const watch = watchForDaemon(context, async () => {
    isHandedOver = true
    await end()
    role.release()
    note(handedOver)
  })
  stack.defer(async () => {
    const ended = watch.end()
    await end()
    await ended
  })
  return {
    role,
    get by() {
      return isHandedOver ? 'daemon' : 'own'
    },
    get pushes() {
      return pushes
    },
    async finish() {
      finishing.abort(commandEnded)
      await Promise.all(pushing)
      metricsMin = 1
      if (isHandedOver) return void (await deliverNow(context, outbox))
      await Promise.all(deliveries.map(delivery => delivery.flush('asked', stopping.signal)))
      if (isHandedOver) return void (await deliverNow(context, outbox))
      const { waiting } = await outbox.operators.backlog()
      for (const reason of waitingSentences(waiting, { nowMs: context.time.nowMs(), isUnattended: true })) note(reason)
    },
  }
}

/** Flushes repeatedly; a running flush is not aborted at the end. Never rejects. */
async function pushUntil(
  delivery: Delivery,
  finishing: AbortSignal,
  stopping: AbortSignal,
  health: OutboxHealth,
  time: Time,
): Promise<void> {
  while (!finishing.aborted) {
    await delivery.flush('due', stopping).catch(error => health.recover(error))
    await time.sleep(pollMs, finishing).catch(() => {})
  }
}
