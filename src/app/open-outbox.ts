import { rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Config, protocolCollectors } from '../config/config.ts'
import { resolveDatabase } from '../config/secret.ts'
import { Fault, faultLine } from '../model/fault.ts'
import { hourText } from '../model/hour.ts'
import type { Outbox, OutboxPlace, UpkeepNews } from '../outbox/contract/outbox.ts'
import type { Roles } from '../outbox/contract/role.ts'
import { isOutboxGone } from '../outbox/data-check.ts'
import {
  type DaemonOpening,
  hasOutbox,
  isOutboxDamage,
  type OpenDeps,
  type Opened,
  openForCommand,
  openForDaemon,
  openForListing,
  openForReading,
} from '../outbox/open.ts'
import { rolesAt } from '../outbox/roles.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import type { AppContext } from './context.ts'

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
  const { data } = context.config
  const isGone = data.kind === 'folder' && isOutboxGone(data.folder)
  const outbox = closedWith(stack, await openForDaemon(outboxDeps(context), opening), context.log)
  // A salvage that a crash interrupted has put a file in place again.
  if (isGone && (await outbox.intake.newestCollected()) === undefined)
    context.log.warn({ folder: data.folder, fix: restoreFirst }, 'the outbox that was here is gone: a new one is begun')
  return outbox
}

const restoreFirst =
  'what waited, was held or decided is not in it: if it was moved, stop the daemon and put it back, or restore a backup'

/**
 * Reads the outbox for a command that writes nothing: it is not checked for damage first. If the reading meets damage,
 * the outbox is opened as by any other command, which salvages it, and read again.
 */
export async function readOutbox<T>(context: AppContext, work: (outbox: Outbox) => Promise<T>): Promise<T> {
  try {
    await using stack = new AsyncDisposableStack()
    const opened = await openForReading(outboxDeps(context))
    return await work(closedWith(stack, opened, createLog('error', context.redactor)))
  } catch (error) {
    if (!isOutboxDamage(error)) throw error
    await using stack = new AsyncDisposableStack()
    return await work(await openOutbox(context, stack))
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

/** As `openExistingOutbox`, for a command that writes nothing: it reads also where the file system is read-only. */
export async function openExistingForListing(
  context: AppContext,
  stack: AsyncDisposableStack,
): Promise<Outbox | undefined> {
  if (!hasOutbox(placeOf(context.config))) return undefined
  return closedWith(stack, await openForListing(outboxDeps(context)), createLog('error', context.redactor))
}

function outboxDeps({ config, time }: AppContext): OpenDeps {
  const collectors = protocolCollectors(config).map(({ id }) => id)
  const { file, outbox } = config
  return { place: placeOf(config), config: file, keepMs: outbox.keepMs, collectors, nowMs: time.nowMs() }
}

function closedWith(
  stack: AsyncDisposableStack,
  { outbox, salvaged: salvage, migrated: migration, copiedTo }: Opened,
  log: Log,
): Outbox {
  if (copiedTo !== undefined) stack.defer(() => rmSync(copiedTo, { recursive: true, force: true }))
  stack.defer(() => outbox.close())
  if (salvage) logSalvage(log, salvage)
  if (migration) log.info(migration, 'the tables of the outbox are brought up to date: the file as it was is kept')
  return outbox
}

/**
 * Where the outbox of a configuration is.
 *
 * @throws Fault `secret-missing`, `config` when the address of the database is missing or none
 */
export function placeOf({ data }: Pick<Config, 'data'>): OutboxPlace {
  return data.kind === 'folder' ? data : { kind: 'postgres', address: resolveDatabase(data.address) }
}

/**
 * The roles of the outbox of a configuration.
 *
 * @throws Fault as `placeOf`
 */
export async function rolesOf(config: Pick<Config, 'data' | 'file'>): Promise<Roles> {
  return rolesAt(placeOf(config), config.file)
}

/** The name of the daemon of a configuration in its fleet. */
export function daemonNameOf({ fleet }: Pick<Config, 'fleet'>): string {
  return fleet.name ?? hostname()
}

/** Whether two configurations keep their outbox in one place. */
export function isSamePlace({ data: first }: Pick<Config, 'data'>, { data: second }: Pick<Config, 'data'>): boolean {
  const textOf = (data: Config['data']) =>
    data.kind === 'folder' ? data.folder : JSON.stringify({ ...data.address, place: undefined })
  return first.kind === second.kind && textOf(first) === textOf(second)
}

/**
 * The data folder, for what works on files.
 *
 * @param fix what to do where the outbox is in a database
 * @throws Fault `usage` when the outbox is in a database
 */
export function requireFolder({ data }: Pick<Config, 'data'>, fix: string): string {
  if (data.kind === 'folder') return data.folder
  throw new Fault('usage', 'the outbox is in a PostgreSQL database, not in a folder', { fix })
}

/** Logs the result of a salvage: what was saved, what was lost, and where the damaged file is. */
function logSalvage(log: Log, { reason, aside, metrics, lostHours }: NonNullable<Opened['salvaged']>): void {
  log.error({ reason, aside, metrics }, 'the outbox was damaged: everything readable is in a new one')
  for (const { collector, hours, oldest, newest } of lostHours) {
    const facts = { collector, hours, oldest: hourText(oldest), newest: hourText(newest) }
    log.error(facts, 'hours with lost values: they are due again')
  }
}

const logLarge = 'the log of the outbox grows: a process keeps reading the outbox'

/** Logs an event of upkeep. */
export function logUpkeep(log: Log, news: UpkeepNews): void {
  switch (news.kind) {
    case 'disk-full':
      log.error({ reason: news.sentence }, 'the disk is full: collecting waits')
      return
    case 'read-only':
      log.error({ reason: news.sentence }, 'the outbox can only be read: collecting waits')
      return
    case 'room-again':
      log.info('new values can be stored again: collecting goes on')
      return
    case 'locked':
      log.warn({ reason: news.sentence }, 'the outbox cannot be written for now: nothing is lost')
      return
    case 'unlocked':
      log.info('the outbox is written again')
      return
    case 'role-renewed':
      log.warn('the lock file was removed from the data folder: it is taken again')
      return
    case 'role-lost':
      log.error(
        'the lock file was removed from the data folder, and another tidegauge has the lock now: this daemon ends',
      )
      return
    case 'wal-large':
      log.warn(
        { bytes: news.bytes, fix: 'end the program that has it open: a copy, a viewer, a command that hangs' },
        logLarge,
      )
      return
    case 'wal-trimmed':
      log.info('the log of the outbox is small again')
      return
    case 'failed':
      log.error({ fault: faultLine(news.error) }, 'the upkeep of the outbox failed: retrying')
      return
  }
}
