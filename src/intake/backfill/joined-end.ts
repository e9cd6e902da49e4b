import { z } from 'zod'
import type { CallCounts } from '../../chain/endpoint/call-meter.ts'
import { type Fault, type FaultRecord, faultFromRecord, faultRecord } from '../../model/fault.ts'
import type { Hour } from '../../model/hour.ts'
import type { BackfillEnd } from './backfill.ts'
import { type CollectorCounts, type CollectorHours, joinedReasons, type Reason, runsOf } from './work.ts'

/** The end of a part of a backfill, and the calls that it took. */
export interface PartEnd {
  readonly end: BackfillEnd
  readonly calls: CallCounts
}

const faultShape = z.custom<FaultRecord>(value => typeof value === 'object' && value !== null && 'code' in value)
const reasonShape = z.object({
  fault: faultShape,
  count: z.int(),
  spans: z.array(z.custom<Reason['spans'][number]>()),
  firstHour: z.custom<Hour>().optional(),
})
const endShape = z.object({
  collectors: z.array(z.custom<CollectorCounts>()),
  failures: z.array(reasonShape),
  early: z.array(reasonShape),
  left: z.int(),
  stopped: faultShape.optional(),
  calls: z.object({ requests: z.int(), calls: z.record(z.string(), z.int()) }),
})

/** The end of a part as plain data, to be read by another process. */
export function partRecord({ end, calls }: PartEnd): { readonly left: number } {
  const record = ({ fault, ...rest }: Reason) => ({ ...rest, fault: faultRecord(fault) })
  const { collectors, failures, early: earlyReasons, left, stopped: stop } = end
  const plainEnd = {
    ...{ collectors, left, calls },
    failures: failures.map(record),
    early: earlyReasons.map(record),
    ...(stop && { stopped: faultRecord(stop.fault) }),
  }
  return plainEnd
}

/** @throws ZodError for data of another version of the program */
export function partFromRecord(record: unknown): PartEnd {
  const { collectors, calls, ...part } = endShape.parse(record)
  const reason = ({ fault, ...rest }: z.output<typeof reasonShape>): Reason => ({
    ...rest,
    fault: faultFromRecord(fault),
  })
  const end = { collectors, failures: part.failures.map(reason), early: part.early.map(reason), left: part.left }
  return { end: part.stopped ? { ...end, stopped: { fault: faultFromRecord(part.stopped) } } : end, calls }
}

/** A part of a backfill: its hours, and its end; absent while it is not over. */
export interface BackfillPart {
  readonly window: readonly CollectorHours[]
  readonly ended?: PartEnd
}

/**
 * The end of a backfill that was read in parts. Hours of a part that another process had collected meanwhile count as
 * collected before. Pure.
 *
 * @param countsBefore counts of the works, before anything was read
 * @param stopFault why parts are left, if any are
 */
export function joinedEnd(
  countsBefore: readonly CollectorCounts[],
  parts: readonly BackfillPart[],
  stopFault: Fault,
): PartEnd {
  const ends = parts.flatMap(({ ended }) => ended ?? [])
  const hoursLeft = parts.reduce((sum, { window, ended }) => sum + (ended ? ended.end.left : runsOf(window)), 0)
  const fault = ends.find(({ end }) => end.stopped)?.end.stopped?.fault ?? (hoursLeft > 0 ? stopFault : undefined)
  const end = {
    collectors: countsBefore.map(counts => joinedCounts(counts, parts)),
    failures: joinedReasons(ends.flatMap(({ end: { failures } }) => failures)),
    early: joinedReasons(ends.flatMap(({ end: { early } }) => early)),
    left: hoursLeft,
  }
  return { end: fault ? { ...end, stopped: { fault } } : end, calls: joinedCalls(ends.map(({ calls }) => calls)) }
}

/** The ends of parts with different collectors, as one. Pure. */
export function joinedParts(parts: readonly PartEnd[]): PartEnd {
  const stopReason = parts.find(({ end }) => end.stopped)?.end.stopped
  const end = {
    collectors: parts.flatMap(({ end: { collectors } }) => collectors),
    failures: joinedReasons(parts.flatMap(({ end: { failures } }) => failures)),
    early: joinedReasons(parts.flatMap(({ end: { early } }) => early)),
    left: parts.reduce((sum, { end: { left } }) => sum + left, 0),
  }
  return {
    end: stopReason ? { ...end, stopped: stopReason } : end,
    calls: joinedCalls(parts.map(({ calls }) => calls)),
  }
}

function joinedCounts(countsBefore: CollectorCounts, parts: readonly BackfillPart[]): CollectorCounts {
  let counts = countsBefore
  for (const { window, ended: joinedWith } of parts) {
    const ownCounts = joinedWith?.end.collectors.find(({ collector }) => collector === countsBefore.collector)
    const share = window.find(({ work }) => work.collector.id === countsBefore.collector)
    if (!ownCounts || !share) continue
    const ownHours = ownCounts.done + ownCounts.failed + ownCounts.impossible
    const hoursElsewhere = joinedWith?.end.left === 0 ? share.hours.length - ownHours : 0
    counts = {
      ...counts,
      done: counts.done + ownCounts.done,
      alreadyCollected: counts.alreadyCollected + Math.max(0, hoursElsewhere),
      failed: counts.failed + ownCounts.failed,
      impossible: counts.impossible + ownCounts.impossible,
      added: counts.added + ownCounts.added,
      corrected: counts.corrected + ownCounts.corrected,
    }
  }
  return counts
}

function joinedCalls(callCounts: readonly CallCounts[]): CallCounts {
  const calls: Record<string, number> = {}
  for (const counts of callCounts) {
    for (const [method, count] of Object.entries(counts.calls)) calls[method] = (calls[method] ?? 0) + count
  }
  return { requests: callCounts.reduce((sum, { requests }) => sum + requests, 0), calls }
}
