import { batchMetricsMax } from '../../../src/model/limits.ts'
import { type EventOf, eventsOf, type HistoryEvent, type HourValue, placeOf, type Run } from './history.ts'

/** Time in which a daemon that lost its claims may still begin to read, since it does not know of it yet. */
const unawareMs = 15_000

/** Pushes that may be repeated after a trouble: those under way, and a probe. */
const pushesATrouble = 2

/** Judges the run of a fleet by all that was promised. Pure. @returns what was broken; empty when nothing was */
export function judge(run: Run): readonly string[] {
  return [
    ...missing(run),
    ...readAgain(run),
    ...staleCommits(run),
    ...otherValues(run),
    ...paceBroken(run),
    ...pushesTooMany(run),
  ]
}

/** No hour is missing: each value is stored, and the service ends with the current one. */
function missing({ events, expected, stored, served }: Run): string[] {
  const corrected = byPlace(eventsOf(events, 'corrected'))
  const wanted = expected.map(value => ({ ...value, value: corrected.get(placeOf(value)) ?? value.value }))
  const differ = (name: string, held: readonly HourValue[]) => {
    const values = byPlace(held)
    return wanted.flatMap(value => {
      const own = values.get(placeOf(value))
      if (Object.is(own, value.value)) return []
      return [`${placeOf(value)} is ${own ?? 'missing'} ${name}, not ${value.value}`]
    })
  }
  return [...differ('in the rows', stored), ...differ('at the service', served)]
}

/** Nothing is collected twice, and no node asked twice, but what was taken over or in hand of one in trouble. */
function readAgain({ events }: Run): string[] {
  const twice = <E extends EventOf<'read' | 'asked'>>(all: readonly E[], nameOf: (event: E) => string) =>
    [...Map.groupBy(all, nameOf)].flatMap(([name, reads]) =>
      reads.slice(1).flatMap((read, index) => {
        const before = reads[index]
        if (!before || isExcused(events, before, read)) return []
        return [`${name} by ${read.daemon} at ${at(read)}, after ${before.daemon} at ${at(before)}`]
      }),
    )
  return [
    ...twice(
      eventsOf(events, 'read'),
      ({ collector, hour }) => `${placeOf({ metric: collector, hour })} is read again`,
    ),
    ...twice(
      eventsOf(events, 'asked'),
      ({ lane, hour }) => `a node is asked again for ${placeOf({ metric: lane, hour })}`,
    ),
  ]
}

type Read = EventOf<'read' | 'asked'>

function isExcused(events: readonly HistoryEvent[], before: Read, read: Read): boolean {
  const { lane, hour } = read
  const since = events.slice(events.indexOf(before), events.indexOf(read))
  const took = eventsOf(events.slice(0, events.indexOf(read)), 'took').findLast(
    event => event.daemon === read.daemon && event.lane === lane && event.hour === hour,
  )
  if (took?.isAgain) return true
  const hasFailed = since.some(
    event =>
      (event.kind === 'failed' || event.kind === 'refused') &&
      event.daemon === before.daemon &&
      event.lane === lane &&
      event.hour === hour,
  )
  return hasFailed || isInTrouble(events, before, read)
}

/** Whether the first reader was in trouble, or the claims of all were gone. */
function isInTrouble(events: readonly HistoryEvent[], before: Read, read: Read): boolean {
  return events.some(event => {
    if (event.atMs < before.atMs - unawareMs || event.atMs > read.atMs) return false
    return event.kind === 'dropped' || (event.kind === 'trouble' && event.daemon === before.daemon)
  })
}

/** Nothing stale is written: a commit is of the daemon that has taken the hour last, and there is one. */
function staleCommits({ events }: Run): string[] {
  const commits = eventsOf(events, 'committed')
  const took = eventsOf(events, 'took')
  const stale = commits.flatMap(commit => {
    const { lane, hour, daemon, begunAtMs, collector } = commit
    const holder = took.findLast(event => event.lane === lane && event.hour === hour && event.atMs < begunAtMs)
    if (!holder || holder.daemon === daemon) return []
    return [`${placeOf({ metric: collector, hour })} is stored by ${daemon} at ${at(commit)}: ${holder.daemon} has it`]
  })
  const twice = [...Map.groupBy(commits, ({ collector, hour }) => placeOf({ metric: collector, hour }))].flatMap(
    ([name, all]) => (all.length > 1 ? [`${name} is stored ${all.length} times`] : []),
  )
  return [...stale, ...twice]
}

/** Nothing is sent with another value than the expected or a corrected one, and no corrected one is followed by an older. */
function otherValues({ events, expected }: Run): string[] {
  const current = byPlace(expected)
  return events.flatMap(event => {
    if (event.kind === 'corrected') current.set(placeOf(event), event.value)
    if (event.kind !== 'pushed') return []
    return event.values.flatMap(value => {
      const wanted = current.get(placeOf(value))
      if (Object.is(wanted, value.value)) return []
      return [`${event.daemon} sends ${value.value} for ${placeOf(value)} at ${at(event)}, not ${wanted}`]
    })
  })
}

/** At most so many pushes for a key in any second at the service. */
function paceBroken({ events, pacePerSecond }: Run): string[] {
  return [...Map.groupBy(eventsOf(events, 'pushed'), ({ key }) => key)].flatMap(([key, pushes]) =>
    pushes.flatMap((first, index) => {
      const last = pushes[index + pacePerSecond]
      if (!last || last.atMs - first.atMs >= 1_000) return []
      const senders = new Set(pushes.slice(index, index + pacePerSecond + 1).map(({ daemon }) => daemon))
      return [
        `more than ${pacePerSecond} pushes with ${key} in the second from ${at(first)}: ${[...senders].join(', ')}`,
      ]
    }),
  )
}

/** As many pushes as full batches, as lane-hours were committed, and what a trouble may repeat. */
function pushesTooMany({ events, expected }: Run): string[] {
  const pushes = eventsOf(events, 'pushed').length
  // After an ill push the service is probed with a small one.
  const troubles = events.filter(event => event.kind === 'trouble' || (event.kind === 'pushed' && event.isIll)).length
  const laneHours = new Set(eventsOf(events, 'committed').map(({ lane, hour }) => `${lane} ${hour}`)).size
  const most = Math.ceil(expected.length / batchMetricsMax) + pushesATrouble * troubles + laneHours
  return pushes > most ? [`${pushes} pushes, and ${most} would do`] : []
}

function byPlace(values: readonly HourValue[]): Map<string, number> {
  return new Map(values.map(value => [placeOf(value), value.value]))
}

function at({ atMs }: { readonly atMs: number }): string {
  return new Date(atMs).toISOString().slice(11)
}
