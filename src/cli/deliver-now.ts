import { type Connection, connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import { deliveriesTo } from '../app/delivering.ts'
import { rolesOf } from '../app/open-outbox.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import { pollMs } from '../model/limits.ts'
import type { Reader } from '../model/waiting.ts'
import type { OperatorStore } from '../outbox/contract/operator-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import type { Role } from '../outbox/contract/role.ts'
import { waitingSentences } from '../status/sentences.ts'
import { asTyped, type ConfigOption, namedFile } from './configured-command.ts'
import { untilDaemon } from './daemon-role.ts'
import { note } from './terminal.ts'

/** Metrics that wait for a person, with the commands that list them; empty when there are none. */
export function waitingText(
  { dead, held }: { readonly dead: number; readonly held: number },
  options: ConfigOption,
): string {
  return [
    ...(dead > 0 ? [`, ${dead} dead (${asTyped('dead ls', options)})`] : []),
    ...(held > 0 ? [`, ${held} held (${asTyped('held ls', options)})`] : []),
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
  for (let [said, isHurried] = [noted, false]; ; ) {
    const taken = await roleOrDeliverer(context)
    if ('release' in taken) {
      if (await deliverAs(taken, context, outbox)) return 'own'
      continue
    }
    if (taken.sentence !== said) note(taken.sentence)
    said = taken.sentence
    if (!isHurried) await outbox.operators.hurry()
    isHurried = true
    if (await isDelivered(outbox.operators, time, Math.min(untilMs, time.nowMs() + pollMs))) return taken.by
    if (time.nowMs() < untilMs) continue
    const { waiting } = await outbox.operators.backlog()
    for (const reason of waitingSentences(waiting, readerOf(context, taken.by === 'command'))) note(reason)
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
export interface Deliverer {
  readonly by: 'daemon' | 'command'
  /** The same for a person. */
  readonly sentence: string
}

/** The delivery role; the process that has it, when another has. */
export async function roleOrDeliverer({ config, time }: AppContext): Promise<Role | Deliverer> {
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

/** Where and when sentences of a command are read. */
export function readerOf({ config, time }: AppContext, isUnattended: boolean): Reader {
  return { nowMs: time.nowMs(), isUnattended, named: namedFile(config.file) }
}

async function noteWaiting(connection: Connection, context: AppContext, store: OperatorStore): Promise<void> {
  for (const { name } of connection.destinations) {
    const state = await store.destination(name)
    const { notBeforeMs } = state
    // This command ends, and no daemon runs: it has the role.
    const [waiting] = waitingSentences([state], readerOf(context, true))
    if (waiting !== undefined) note(waiting)
    else if (notBeforeMs > context.time.nowMs())
      note(`the service asked to wait until ${new Date(notBeforeMs).toISOString()}`)
  }
}
