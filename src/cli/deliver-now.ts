import { type Connection, connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import { deliveriesTo } from '../app/deliveries.ts'
import { rolesOf } from '../app/outbox-place.ts'
import { Fault } from '../model/fault.ts'
import { pollMs } from '../model/limits.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Role } from '../outbox/contract/role.ts'
import { asTyped, type ConfigOption } from './configured-command.ts'
import { untilDaemon } from './daemon-role.ts'
import { note } from './terminal.ts'

/** Metrics that wait for a person, with the commands that list them; empty when there are none. */
export function standing(
  { dead, held }: { readonly dead: number; readonly held: number },
  options: ConfigOption,
): string {
  return [
    ...(dead > 0 ? [`, ${dead} dead (${asTyped('dead ls', options)})`] : []),
    ...(held > 0 ? [`, ${held} held (${asTyped('held ls', options)})`] : []),
  ].join('')
}

/**
 * Delivers the due metrics, or waits while a running daemon does. Reports on stderr why a metric stays due.
 *
 * @param noted which process delivers, as it was already reported
 */
export async function deliverNow(context: AppContext, outbox: Outbox, noted?: string): Promise<void> {
  const taken = await roleOrDeliverer(context)
  if (typeof taken === 'string') {
    if (taken !== noted) note(taken)
  } else if (await deliverAs(taken, context, outbox)) return
  await outbox.operators.hurry()
  await waitForDaemon(context, outbox.operators)
}

/** The delivery role; a sentence about the process that has it, when another has. */
export async function roleOrDeliverer({ config, time }: AppContext): Promise<Role | string> {
  const roles = await rolesOf(config)
  try {
    return await roles.takeDelivery(time.nowMs())
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'outbox-held') throw error
    const { pid = 'unknown', config: file = 'unknown' } = error.facts
    const who = (await roles.daemon()) ? 'the running daemon' : 'another command'
    return `${who} (pid ${pid}, configuration ${file}) delivers`
  }
}

/** @returns whether all had their turn; `false` when a daemon started meanwhile and has the role now */
async function deliverAs(role: Role, context: AppContext, outbox: Outbox): Promise<boolean> {
  await using stack = new AsyncDisposableStack()
  stack.defer(() => role.release())
  await outbox.health.keepReserve()
  const connection = await connect(context, stack)
  const [flushing, watching] = [new AbortController(), new AbortController()]
  stack.defer(() => watching.abort(new Error('flushed')))
  const isWanted = untilDaemon(context, watching.signal).then(isThere => {
    if (isThere) flushing.abort(new Fault('stopped', 'a daemon has started, which delivers'))
    return isThere
  })
  const deliveries = await deliveriesTo(connection, outbox.delivery, context)
  await Promise.all(deliveries.map(delivery => delivery.flush('asked', flushing.signal)))
  watching.abort(new Error('flushed'))
  if (await isWanted) {
    note(handedOver)
    return false
  }
  await noteWaiting(connection, context, outbox.operators)
  return true
}

/** Reported when a command releases the delivery role. */
export const handedOver = 'a daemon has started: it delivers the rest'

async function noteWaiting(connection: Connection, context: AppContext, store: OperatorStore): Promise<void> {
  for (const { name } of connection.destinations) {
    const { waiting, notBeforeMs } = await store.destination(name)
    if (waiting !== undefined) note(waiting)
    else if (notBeforeMs > context.time.nowMs())
      note(`the service asked to wait until ${new Date(notBeforeMs).toISOString()}`)
  }
}

/** Waits as long as one push and the daemon's look into the outbox may take. */
async function waitForDaemon({ config, time }: AppContext, store: OperatorStore): Promise<void> {
  const untilMs = time.nowMs() + config.delivery.timeoutMs + 2 * pollMs
  let backlog = await store.backlog()
  while (backlog.balance.due > 0 && time.nowMs() < untilMs) {
    await time.sleep(pollMs / 10)
    backlog = await store.backlog()
  }
  if (backlog.balance.due === 0) return
  for (const reason of backlog.waiting) note(reason)
  if (backlog.waiting.length === 0) note('not delivered yet: does the daemon run with the same configuration?')
}
