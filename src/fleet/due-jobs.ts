import { type LaneHour, laneJob, laneQueue, type NewJob } from './jobs.ts'
import type { Lane } from './lane.ts'
import { reconciledHoursMax } from './limits.ts'

/** Jobs for one queue. */
export interface QueueJobs {
  readonly queue: string
  readonly jobs: readonly NewJob[]
}

/**
 * The jobs of due hours, by queue: one for each lane and hour, the newest hours first. A job that exists already is not
 * made again, since its id is the same. Pure.
 *
 * @param lanes those whose collectors this daemon knows
 */
export function dueJobs(due: readonly LaneHour[], lanes: ReadonlySet<Lane>): readonly QueueJobs[] {
  const known = due.filter(({ lane }) => lanes.has(lane))
  return [...Map.groupBy(known, ({ lane }) => lane)].map(([lane, hours]) => {
    const newest = [...new Set(hours.map(({ hour }) => hour))].sort((a, b) => b - a).slice(0, reconciledHoursMax)
    return { queue: laneQueue(lane), jobs: newest.map(hour => laneJob({ lane, hour })) }
  })
}
