import type { Outbox } from '../outbox/contract/outbox.ts'
import {
  type DaemonOpening,
  hasOutbox,
  isOutboxDamage,
  type OpenDeps,
  type Opened,
  openForCommand,
  openForDaemon,
  openForReading,
} from '../outbox/open.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import type { AppContext } from './context.ts'
import { logSalvage } from './outbox-news.ts'
import { placeOf } from './outbox-place.ts'

/**
 * Opens the outbox, whether or not a daemon runs; it is closed with the stack. A damaged one is salvaged first if no
 * daemon runs.
 */
export async function openOutbox(context: AppContext, stack: AsyncDisposableStack): Promise<Outbox> {
  // Commands report on stderr themselves, except for this, which is not expected.
  const log = createLog('error', context.redactor)
  return closedWith(stack, await openForCommand(outboxDeps(context)), log)
}

/** Opens the outbox for a daemon; it is closed with the stack. */
export async function openDaemonOutbox(
  context: AppContext,
  stack: AsyncDisposableStack,
  opening: DaemonOpening,
): Promise<Outbox> {
  return closedWith(stack, await openForDaemon(outboxDeps(context), opening), context.log)
}

/**
 * Reads the outbox for a command that writes nothing: it is not checked for damage first. If the reading meets damage,
 * the outbox is opened as by any other command, which salvages it, and read again.
 */
export async function readOutbox<T>(context: AppContext, read: (outbox: Outbox) => Promise<T>): Promise<T> {
  try {
    await using stack = new AsyncDisposableStack()
    const opened = await openForReading(outboxDeps(context))
    return await read(closedWith(stack, opened, createLog('error', context.redactor)))
  } catch (error) {
    if (!isOutboxDamage(error)) throw error
    await using stack = new AsyncDisposableStack()
    return await read(await openOutbox(context, stack))
  }
}

/** As `readOutbox`; without an outbox, `read` is given none. */
export async function readExistingOutbox<T>(
  context: AppContext,
  read: (outbox: Outbox | undefined) => Promise<T>,
): Promise<T> {
  return hasOutbox(placeOf(context.config)) ? readOutbox(context, read) : read(undefined)
}

/** Opens the outbox if there is one; it is closed with the stack. */
export async function openExistingOutbox(
  context: AppContext,
  stack: AsyncDisposableStack,
): Promise<Outbox | undefined> {
  return hasOutbox(placeOf(context.config)) ? openOutbox(context, stack) : undefined
}

function outboxDeps({ config, time }: AppContext): OpenDeps {
  const collectors = config.protocols.flatMap(protocol => protocol.collectors).map(({ id }) => id)
  const { file, outbox } = config
  return { place: placeOf(config), config: file, keepMs: outbox.keepMs, collectors, nowMs: time.nowMs() }
}

function closedWith(stack: AsyncDisposableStack, { outbox, salvaged }: Opened, log: Log): Outbox {
  stack.defer(() => outbox.close())
  if (salvaged) logSalvage(log, salvaged)
  return outbox
}
