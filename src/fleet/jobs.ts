import { createHash } from 'node:crypto'
import { type Hour, hourNumber } from '../model/hour.ts'
import type { BackfillWindow } from '../outbox/contract/backfill-store.ts'
import type { Lane } from './lane.ts'

/** A lane's hour that is to be collected. */
export interface LaneHour {
  readonly lane: Lane
  readonly hour: Hour
}

/** A job, as it is inserted. */
export interface NewJob {
  /** A UUID made of what the job is about: it exists once, however many daemons insert it. */
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
  /** Larger ones first. */
  readonly priority: number
}

/** Namespace of the ids: version 5 of a UUID hashes it with the name. */
const namespace = Buffer.from('8d6cf7a2c0b14c3f9f0c4be1a7d35e62', 'hex')

/** Longest readable part of a queue's name. */
const readableCharsMax = 60

/** The job of a lane and hour: the newest hour goes first. Pure. */
export function laneJob({ lane, hour }: LaneHour): NewJob {
  return { id: uuidOf(`${lane}/${hour}`), data: { hour }, priority: hourNumber(hour) }
}

/** The job of a window: asked for twice, it exists once. Pure. */
export function windowJob(lane: Lane, window: BackfillWindow): NewJob {
  const { collectors, from, to, what, order } = window
  const id = uuidOf(`backfill/${lane}/${what}/${from}/${to}/${collectors.toSorted().join(' ')}`)
  return { id, data: { ...window }, priority: order === 'newest-first' ? hourNumber(to) : -hourNumber(from) }
}

/** Name of the queue of a lane's windows: its hours never wait for them. Pure. */
export function backfillQueue(lane: Lane): string {
  return `backfill/${safe(lane)}`
}

/** Name of the queue of all roles: one look shows which are free, and one touch keeps all that a daemon has. */
export const roleQueue = 'roles'

/** The one job of a role, which its holder keeps. Its priority is its own, so that it can be fetched alone. Pure. */
export function roleJob(role: string): NewJob {
  const id = uuidOf(`role/${role}`)
  return { id, data: { role }, priority: Number.parseInt(id.slice(0, 7), 16) }
}

/** Name of the queue of a lane's hours. Pure. */
export function laneQueue(lane: Lane): string {
  return `collect/${safe(lane)}`
}

/** The engine takes letters, digits and `_ - . /` in names; of a name with others, their hash makes it a different one. */
function safe(name: string): string {
  if (/^(machine\/)?[A-Za-z0-9_.-]+$/.test(name) && name.length <= readableCharsMax) return name
  return `${name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, readableCharsMax)}/${uuidOf(name).slice(0, 8)}`
}

/** A UUID of version 5. */
function uuidOf(name: string): string {
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
