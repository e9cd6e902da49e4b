import { z } from 'zod'
import { jsonOf } from '../../model/json.ts'
import type { Incidents } from './incidents.ts'
import { type Notice, troubleKinds } from './trouble.ts'

/** Notices that wait for one receiver, at most: the oldest are given up. */
const waitingMax = 100

/** A notice and the receivers that have not accepted it yet. */
export interface QueuedNotice {
  readonly notice: Notice
  /** Names. */
  readonly receivers: readonly string[]
}

/** State of notifications, which survives a restart. Plain data. */
export interface NotifyState {
  readonly incidents: Incidents
  /** The oldest first. */
  readonly queue: readonly QueuedNotice[]
}

/** Adds notices for all receivers. Pure. */
export function queued(
  queue: readonly QueuedNotice[],
  notices: readonly Notice[],
  receivers: readonly string[],
): QueuedNotice[] {
  return [...queue, ...notices.map(notice => ({ notice, receivers }))].slice(-waitingMax)
}

/** Removes receivers that are not configured any more, and notices that wait for none. Pure. */
export function forReceivers(queue: readonly QueuedNotice[], receivers: readonly string[]): QueuedNotice[] {
  return queue.flatMap(({ notice, receivers: waiting }) => {
    const left = waiting.filter(name => receivers.includes(name))
    return left.length === 0 ? [] : [{ notice, receivers: left }]
  })
}

/** Removes one notice for one receiver. Pure. */
export function without(queue: readonly QueuedNotice[], notice: Notice, receiver: string): QueuedNotice[] {
  return queue.flatMap(entry => {
    if (entry.notice !== notice) return [entry]
    const left = entry.receivers.filter(name => name !== receiver)
    return left.length === 0 ? [] : [{ notice, receivers: left }]
  })
}

const kind = z.enum(troubleKinds)
const subject = z.string()
const ms = z.number()

const storedState = z.object({
  incidents: z.object({
    open: z.array(
      z.object({
        kind,
        subjects: z.array(subject),
        hour: z.number(),
        what: z.string(),
        beganMs: ms,
        times: z.number(),
        clearSinceMs: z.exactOptional(ms),
      }),
    ),
    fresh: z.array(z.object({ kind, subject, sinceMs: ms })),
    past: z.array(z.object({ kind, subject, times: z.number(), endedMs: ms })),
    lost: z.record(z.string(), z.number()),
  }),
  queue: z.array(
    z.object({
      notice: z.object({
        trouble: kind,
        state: z.enum(['begin', 'over']),
        hour: z.string(),
        what: z.string(),
        why: z.string(),
        do: z.string(),
        items: z.array(z.object({ what: z.string(), why: z.string(), do: z.string() })),
      }),
      receivers: z.array(z.string()),
    }),
  ),
})

/** Reads a stored state; `undefined` when there is none, or it is of another form. */
export function stateFrom(text: string | undefined): NotifyState | undefined {
  return text === undefined ? undefined : storedState.safeParse(jsonOf(text)).data
}
