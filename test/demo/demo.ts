import type { Devchain } from '../../src/devchain/devchain.ts'
import type { StatusJson } from '../../src/status/json.ts'
import { catchUp, isShown, troubles, type Watch, watch } from './catch-up.ts'
import { compare } from './compare.ts'
import { type Daemon, statusOf } from './daemon.ts'
import { DemoError } from './ending.ts'
import { thisMachine } from './protocols.ts'
import { type DemoContext, type Running, start } from './start.ts'
import { tables } from './tables.ts'
import type { Terminal } from './terminal.ts'
import { truthOf } from './truth.ts'

const pollMs = 300
const stillMsMax = 30_000

/**
 * The whole demo: chain, daemon, catch-up, tables; then the comparison (`once`) or waiting for the end.
 *
 * @returns the exit code
 * @throws DemoError when a part dies or stands still; the ending's reason when a person ended it. Nothing is left
 * running, and no file, in any case.
 */
export async function demo({ once }: { readonly once: boolean }, context: DemoContext): Promise<number> {
  const { terminal, ending, time } = context
  await using stack = new AsyncDisposableStack()
  const startedMs = time.nowMs()
  const running = await start(context, stack)
  const status = await caughtUp(running, context)
  report(status, running, (time.nowMs() - startedMs) / 1000, terminal)
  if (once) return await compared(status, running.chain, terminal)
  terminal.say('Stop with Ctrl-C.')
  return await untilAborted(ending.signal)
}

/** Waits until every hour is at the service and the widgets were read from it since. */
async function caughtUp(running: Running, { time, terminal, ending }: DemoContext): Promise<StatusJson> {
  const { daemon, protocols, page } = running
  const watching: Watch = { status: () => statusOf(page, time), time, signal: ending.signal, pollMs, stillMsMax }
  const progress = (status: StatusJson) => {
    const { hours, hoursDone, delivered } = catchUp(status, protocols)
    return `Catching up: ${hoursDone} of ${hours} hours, ${delivered} values delivered`
  }
  const delivered = await watch(
    watching,
    status => {
      terminal.progress(progress(status))
      const { isDone, lost } = catchUp(status, protocols)
      if (lost.length > 0) throw new DemoError('Some hours are lost:', lost)
      return isDone
    },
    progress,
  )
  if (!delivered.status || delivered.kind === 'still') throw stillError(delivered.status, daemon)
  const sinceMs = Date.parse(delivered.status.now)
  const shown = await watch(watching, status => isShown(status, protocols, sinceMs), progress)
  if (!shown.status || shown.kind === 'still') throw stillError(shown.status, daemon)
  return shown.status
}

function stillError(status: StatusJson | undefined, daemon: Daemon): DemoError {
  const seconds = stillMsMax / 1000
  return status
    ? new DemoError(`Nothing has gone on for ${seconds} seconds.`, troubles(status))
    : new DemoError(`The daemon has not answered for ${seconds} seconds. Its last lines:`, daemon.tail())
}

function report(status: StatusJson, { protocols, page }: Running, seconds: number, terminal: Terminal): void {
  const { hours, delivered } = catchUp(status, protocols)
  const last = status.hours.hours.at(-1)
  terminal.say(
    `Caught up: ${hours} hours, ${delivered} values delivered, ${seconds.toFixed(0)} seconds after the start.`,
  )
  terminal.say(`The widgets as the service shows them, as of ${last}:`)
  for (const line of tables(status.protocols)) terminal.say(line)
  terminal.say('')
  terminal.say(`The page: ${page}/`)
}

async function compared(status: StatusJson, chain: Devchain, terminal: Terminal): Promise<number> {
  const protocols = status.protocols.filter(({ id }) => id !== thisMachine)
  const { checked, differences } = await compare({ ...status, protocols }, await truthOf(chain))
  if (differences.length === 0 && checked > 0) {
    terminal.say(`${checked} values checked against the chain, all equal`)
    return 0
  }
  terminal.say(`${checked} values checked against the chain, ${differences.length} differ:`)
  for (const line of differences) terminal.say(`  ${line}`)
  return 1
}

/** @throws the signal's reason */
function untilAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
