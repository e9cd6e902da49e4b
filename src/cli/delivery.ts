import { type Connection, connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import { deliveriesTo } from '../app/delivering.ts'
import { daemonNameOf, rolesOf } from '../app/open-outbox.ts'
import { serviceAddress } from '../config/config.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { batchMetricsMax, pollMs } from '../model/limits.ts'
import { otherServiceSentence, serviceAt } from '../outbox/contract/fleet-store.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { Outbox, OutboxHealth } from '../outbox/contract/outbox.ts'
import type { Role } from '../outbox/contract/role.ts'
import { waitingSentences } from '../status/sentences.ts'
import { note } from './terminal.ts'

/** Metrics that wait for a person, with the commands that list them; empty when there are none. */
export function waitingText(counts: { readonly dead: number; readonly held: number }): string {
  return [
    ...(counts.dead > 0 ? [`, ${counts.dead} dead (tidegauge dead ls)`] : []),
    ...(counts.held > 0 ? [`, ${counts.held} held (tidegauge held ls)`] : []),
  ].join('')
}

/**
 * Delivers the due metrics, or waits while another process does. It goes on where that one ends. Reports on stderr why a
 * metric stays due.
 *
 * @param firstNote sentence about the process that delivers, as it was already reported
 * @returns which process delivered last
 */
export async function deliverNow(
  context: AppContext,
  outbox: Outbox,
  firstNote?: string,
): Promise<'own' | Deliverer['by']> {
  const { config, time } = context
  // As long as one push and the daemon's look into the outbox may take.
  const untilMs = time.nowMs() + config.delivery.timeoutMs + 2 * pollMs
  for (let [lastNote, isRequested] = [firstNote, false]; ; ) {
    const outcome = await roleOrDeliverer(context, outbox)
    if ('release' in outcome) {
      await using stack = new AsyncDisposableStack()
      const own = await openOwn(outcome, context, outbox, stack)
      await own.flush()
      if (own.by === 'own') return 'own'
      continue
    }
    if (outcome.sentence !== lastNote) note(outcome.sentence)
    lastNote = outcome.sentence
    if (!isRequested) await outbox.operators.requestFlush()
    isRequested = true
    if (await isDelivered(outbox.operators, time, Math.min(untilMs, time.nowMs() + pollMs))) return outcome.by
    if (time.nowMs() < untilMs) continue
    const { waiting: waitingDestinations } = await outbox.operators.backlog()
    const reader = { nowMs: time.nowMs(), isUnattended: outcome.by === 'command' }
    for (const reason of waitingSentences(waitingDestinations, reader)) note(reason)
    if (waitingDestinations.length === 0) note('not delivered yet: does the daemon run with the same configuration?')
    return outcome.by
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
async function roleOrDeliverer(context: AppContext, outbox: Outbox): Promise<Role | Deliverer> {
  await requireService(context, outbox, 'deliver')
  const { config, time } = context
  const roles = await rolesOf(config)
  try {
    return await roles.takeDelivery(time.nowMs())
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'outbox-held') throw error
    const { pid = 'unknown', config: file = 'unknown', by: what, host } = error.facts
    const deliverer = what === 'daemon' ? 'daemon' : 'command'
    const holderName = deliverer === 'daemon' ? 'the running daemon' : 'another command'
    return {
      by: deliverer,
      sentence: `${holderName} (pid ${pid}${host === undefined ? '' : ` on ${host}`}, configuration ${file}) delivers`,
    }
  }
}

/**
 * Demands that the outbox is of one daemon, or its fleet delivers to this service.
 *
 * @param purpose a command that delivers before any daemon says which service that is
 * @throws Fault `config` otherwise
 */
export async function requireService(
  { config }: AppContext,
  { sharedOutbox }: Outbox,
  purpose: 'deliver' | 'compare',
): Promise<void> {
  if (!sharedOutbox) return
  const { store } = sharedOutbox
  const service = serviceAt(serviceAddress(config))
  const [storedIdentity] = await (purpose === 'deliver'
    ? store.agree([service], daemonNameOf(config))
    : store.identities([service.name]))
  const sentence = otherServiceSentence(service, storedIdentity)
  if (sentence !== undefined) throw new Fault('config', sentence, { fix: 'tidegauge fleet ls shows what counts' })
}

/** Resolves to whether a daemon has started before the signal is aborted. */
async function untilDaemon({ config, time }: AppContext, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const holder = rolesOf(config).then(roles => roles.daemon())
    // An unreadable folder has no daemon: it could not have created its files.
    if (await holder.catch(() => undefined)) return true
    await time.sleep(pollMs, signal).catch(() => {})
  }
  return false
}

const commandEnded = new Fault('stopped', 'the command has ended')

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

/**
 * Takes the delivery role and pushes from now on, or finds which process has it. Until `finish` a value waits some seconds for
 * others that fill its batch: a push of one metric costs the service as much as one of a hundred. The stack closes all that is opened.
 */
export async function startDelivery(
  context: AppContext,
  outbox: Outbox,
  stack: AsyncDisposableStack,
): Promise<CommandDelivery> {
  const role = await roleOrDeliverer(context, outbox)
  if ('release' in role) {
    const own = await openOwn(role, context, outbox, stack)
    own.pushFull()
    return own
  }
  note(role.sentence)
  const delivery = {
    by: role.by as CommandDelivery['by'],
    pushes: 0,
    async finish() {
      delivery.by = await deliverNow(context, outbox, role.sentence)
    },
  }
  return delivery
}

/** Delivery by this process, which hands over to a daemon that starts. */
async function openOwn(role: Role, context: AppContext, outbox: Outbox, stack: AsyncDisposableStack) {
  stack.defer(() => role.release())
  await outbox.health.keepReserve()
  const connection = await connect(context, stack)
  const push: typeof connection.client.push = async (...pushArguments) => {
    // A person may have changed it meanwhile.
    await requireService(context, outbox, 'deliver')
    progress.pushes += 1
    return connection.client.push(...pushArguments)
  }
  const counting = { ...connection, client: { ...connection.client, push } }
  const deliveries = await deliveriesTo(counting, outbox.delivery, context, () => progress.metricsMin)
  const [finishController, stopController] = [new AbortController(), new AbortController()]
  let currentPush: Promise<unknown> = Promise.resolve()
  const end = async () => {
    stopController.abort(commandEnded)
    finishController.abort(commandEnded)
    await currentPush.catch(() => {})
  }
  const progress = {
    role,
    by: 'own' as CommandDelivery['by'],
    pushes: 0,
    /** Metrics that are worth a push. */
    metricsMin: 1,
    pushFull() {
      const until = { finishSignal: finishController.signal, stopSignal: stopController.signal }
      currentPush = Promise.all(deliveries.map(one => pushUntil(one, progress, until, outbox.health, context.time)))
    },
    /** Pushes all that is due, and reports what is left. Resolves early when a daemon starts. */
    async flush() {
      finishController.abort(commandEnded)
      await currentPush
      progress.metricsMin = 1
      if (progress.by !== 'own') return
      currentPush = Promise.all(deliveries.map(delivery => delivery.flush('asked', stopController.signal)))
      await currentPush
      if (progress.by === 'own') await noteWaiting(connection, context, outbox.operators)
    },
    async finish() {
      await progress.flush()
      if (progress.by !== 'own') await deliverNow(context, outbox)
    },
  }
  const watch = untilDaemon(context, stopController.signal).then(async isStarted => {
    if (!isStarted) return
    progress.by = 'daemon'
    await end()
    role.release()
    note('a daemon has started: it delivers the rest')
  })
  stack.defer(async () => {
    await end()
    await watch
  })
  return progress
}

/** Longest wait of a value for others that fill its batch. */
const partlyFullMs = 5_000

/**
 * Flushes repeatedly, full batches alone, and all that is due after some seconds without a push; a running flush is not
 * aborted at the end. Never rejects.
 */
async function pushUntil(
  delivery: Delivery,
  progress: { readonly pushes: number; metricsMin: number },
  { finishSignal, stopSignal }: { readonly finishSignal: AbortSignal; readonly stopSignal: AbortSignal },
  health: OutboxHealth,
  time: Time,
): Promise<void> {
  let [pushes, sinceMs] = [progress.pushes, time.steadyMs()]
  while (!finishSignal.aborted) {
    if (progress.pushes !== pushes) [pushes, sinceMs] = [progress.pushes, time.steadyMs()]
    const isLate = time.steadyMs() - sinceMs >= partlyFullMs
    progress.metricsMin = isLate ? 1 : batchMetricsMax
    if (isLate) sinceMs = time.steadyMs()
    await delivery.flush('due', stopSignal).catch(error => health.recover(error))
    await time.sleep(pollMs, finishSignal).catch(() => {})
  }
}
