import { askHeads, witnessesOf, writtenAt } from '../app/clock-watch.ts'
import { connect } from '../app/connection.ts'
import type { AppContext } from '../app/context.ts'
import { openChains } from '../app/open-chains.ts'
import { openExistingOutbox } from '../app/open-outbox.ts'
import { type ClockWitnesses, WatchedClock } from '../intake/hour-clock.ts'
import { agreedHour, type ClockVerdict, witnessWaitMs, writtenLater } from '../model/clock.ts'
import { Fault } from '../model/fault.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'
import { note } from './terminal.ts'

/**
 * Opens the outbox if there is one; it is closed with the stack. Before that, this machine's clock is checked, so that
 * nothing is stored with a wrong time. A person has just typed the command, so only a witness that contradicts the clock
 * stops it; what this machine has written before is said.
 *
 * @param asks witnesses of the clock; `chains`: the service is asked nothing
 * @returns the context with the checked clock, so that the service is not asked again
 * @throws Fault `clock-doubted`
 */
export async function openedByClock(
  context: AppContext,
  stack: AsyncDisposableStack,
  asks: 'service' | 'chains' = 'service',
): Promise<{ readonly context: AppContext; readonly outbox: Outbox | undefined }> {
  // Before the outbox is opened, which changes its file.
  const writtenMs = writtenAt(context.config)
  const outbox = await openExistingOutbox(context, stack)
  const witnesses = witnessesOf(context.config, await outbox?.intake.newestCollected(), writtenMs)
  const clock = await comparedClock(context, outbox, witnesses, asks)
  const { verdict } = clock
  const wrong = mistake(verdict)
  if (wrong !== undefined) throw new Fault('clock-doubted', wrong)
  if (verdict.kind === 'doubted' && verdict.why === 'written')
    note(
      `warning: ${writtenLater(context.time.nowMs(), witnesses)}: nothing else contradicts it, so it is believed here`,
    )
  if (verdict.kind === 'trusted' && verdict.remark !== undefined) note(verdict.remark)
  return { context: { ...context, clock }, outbox }
}

/** This machine's clock, compared with those of the service and the chains. */
export async function comparedClock(
  context: AppContext,
  outbox: Outbox | undefined,
  witnesses: ClockWitnesses,
  asks: 'service' | 'chains' = 'service',
): Promise<WatchedClock> {
  const clock = new WatchedClock(context.time)
  clock.setWitnesses(witnesses)
  if (asks === 'service') await askService(context, outbox, clock)
  if (clock.serviceAheadMs === undefined) await askChains(context, clock)
  return clock
}

function mistake(verdict: ClockVerdict): string | undefined {
  if (verdict.kind === 'doubted') return verdict.why === 'contradicted' ? verdict.reason : undefined
  if (agreedHour(verdict) !== undefined) return undefined
  return verdict.remark ?? `this machine's clock and its witness are in different hours: try again in a minute`
}

/** Asks the service for its clock, unless a retry-after is running. */
async function askService(context: AppContext, outbox: Outbox | undefined, clock: WatchedClock): Promise<void> {
  const { config, time } = context
  if (config.service.kind !== 'remote') return
  await using stack = new AsyncDisposableStack()
  const { client, destinations } = await connect(context, stack)
  const [first] = destinations
  const { notBeforeMs = 0 } = (first && (await outbox?.operators.destination(first.name))) ?? {}
  const key = notBeforeMs > time.nowMs() ? undefined : readable(first?.readKey)
  if (key === undefined) return
  context.redactor.add([key])
  const answer = await client.validateKey(key, time.timeout(witnessWaitMs))
  if (answer.kind === 'answered' && answer.skewMs !== undefined) clock.sawService(answer.skewMs)
}

/** Reads a key; an unreadable one is reported by the code that needs it. */
function readable(readKey: (() => string) | undefined): string | undefined {
  try {
    return readKey?.()
  } catch {
    return undefined
  }
}

async function askChains(context: AppContext, clock: WatchedClock): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const chains = openChains(context, stack)
  await askHeads(clock, chains, context.time.timeout(witnessWaitMs))
}
