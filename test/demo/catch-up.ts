import type { Time } from '../../src/edge/time.ts'
import type { StatusJson } from '../../src/status/json.ts'
import type { DemoProtocol } from './protocols.ts'

type Row = StatusJson['hours']['rows'][number]
type Cell = Row['cells'][number]

/** Progress of the daemon with the hours it shows. */
export interface CatchUp {
  readonly hours: number
  /** Hours of which every expected value is at the service. */
  readonly hoursDone: number
  /** Values at the service. */
  readonly delivered: number
  /** Nothing is on its way any more and every hour is done. */
  readonly isDone: boolean
  /** Hours that cannot come any more, each as a line with its reason; and what delivery waits for. */
  readonly lost: readonly string[]
}

/** Reads the progress off the status. The hours of a collector without a history begin with the current one. */
export function catchUp({ hours, balance }: StatusJson, protocols: readonly DemoProtocol[]): CatchUp {
  const rows = hours.rows.map(row => ({ ...row, from: hasHistory(row, protocols) ? 0 : hours.hours.length - 1 }))
  const isDone = (index: number) => rows.every(({ cells, from }) => index < from || cells[index]?.state === 'delivered')
  const hoursDone = hours.hours.filter((_, index) => isDone(index)).length
  return {
    hours: hours.hours.length,
    hoursDone,
    delivered: balance.delivered,
    isDone: hoursDone === hours.hours.length && rows.length > 0 && balance.due === 0,
    lost: rows.flatMap(({ collector, cells }) =>
      cells.flatMap((cell, index) => lostLine(collector, hours.hours[index] ?? '', cell)),
    ),
  }
}

/** Whether all that is done is also shown: each widget was read from the service at or after an instant. */
export function isShown(status: StatusJson, protocols: readonly DemoProtocol[], sinceMs: number): boolean {
  const isRead = status.protocols.every(({ readAt }) => readAt !== undefined && Date.parse(readAt) >= sinceMs)
  // An hour may have begun meanwhile, which is to be done too.
  return isRead && catchUp(status, protocols).isDone
}

function hasHistory({ collector, protocolId }: Row, protocols: readonly DemoProtocol[]): boolean {
  const protocol = protocols.find(({ id }) => id === protocolId)
  return protocol?.collectors.some(({ use, history }) => history && collector === `${protocolId}/${use}`) ?? false
}

function lostLine(collector: string, hour: string, { state, fault }: Cell): string[] {
  if (state !== 'gap' && state !== 'dead' && state !== 'held') return []
  return [`${collector} ${hour}: ${state}${fault ? `, ${fault.message}` : ''}`]
}

/** Why nothing goes on, as the daemon sees it. */
export function troubles({ service, hours }: StatusJson): string[] {
  const faults = hours.rows.flatMap(({ collector, cells }) =>
    cells.flatMap(({ fault }) => (fault ? [`${collector}: ${fault.message}`] : [])),
  )
  return [...new Set([...(service.waiting ? [service.waiting] : []), ...faults])].slice(0, 15)
}

export interface Watch {
  /** Asks the daemon; `undefined` while it does not answer. */
  readonly status: () => Promise<StatusJson | undefined>
  readonly time: Time
  readonly signal: AbortSignal
  readonly pollMs: number
  /** Gives up after this time without progress. */
  readonly stillMsMax: number
}

export type Watched = { readonly kind: 'met' | 'still'; readonly status: StatusJson | undefined }

/**
 * Asks again and again until what is asked for is met, or until nothing has changed for long.
 *
 * @param mark what counts as progress: a text that changes with it
 */
export async function watch(
  { status, time, signal, pollMs, stillMsMax }: Watch,
  isMet: (status: StatusJson) => boolean,
  mark: (status: StatusJson) => string,
): Promise<Watched> {
  let last = { mark: '', atMs: time.nowMs() }
  for (;;) {
    const seen = await status()
    if (seen && isMet(seen)) return { kind: 'met', status: seen }
    const now = seen ? mark(seen) : ''
    if (now !== last.mark) last = { mark: now, atMs: time.nowMs() }
    if (time.nowMs() - last.atMs > stillMsMax) return { kind: 'still', status: seen }
    await time.sleep(pollMs, signal)
  }
}
