import { createHash } from 'node:crypto'
import { type Config, serviceAddress } from '../config/config.ts'
import { type Hour, hourAt, hourText } from '../model/hour.ts'
import { daemonAwayMs } from '../model/limits.ts'
import { asSentence } from '../model/text.ts'
import {
  configurationParts,
  type DueLane,
  deliveredBy,
  type Identity,
  otherServiceSentence,
  partBytes,
  type SeenDaemon,
  serviceAt,
  serviceIdentity,
} from '../outbox/contract/fleet-store.ts'
import type { Outbox } from '../outbox/contract/outbox.ts'

/** The daemons that share an outbox in PostgreSQL. */
export interface FleetState {
  /** By name; one that was stopped is not among them. */
  readonly daemons: readonly FleetDaemon[]
  /** Why a daemon of this configuration does not work as one of the fleet, one sentence each. */
  readonly troubles: readonly string[]
  /** Lanes with due hours that no living daemon works. */
  readonly idleLanes: readonly IdleLane[]
  /** Differences between daemons that a person should end, one sentence each. */
  readonly differences: readonly string[]
  /** The same by their kinds, with the daemon that each is of. */
  readonly differing: readonly FleetDifference[]
}

/** Kinds of differences: those between all daemons, then those of one daemon; the last is of one that has died. */
export const differenceKinds = [
  'version',
  ...configurationParts,
  'definition',
  'failing',
  'name',
  'clock',
  'no-daemon',
] as const

/** A difference between daemons that a person should end. */
export interface FleetDifference {
  readonly kind: (typeof differenceKinds)[number]
  /** Name of the daemon that differs; absent where the daemons are compared with each other. */
  readonly daemon?: string
  /** The difference, and what follows from it. */
  readonly reason: string
  readonly fix: string
}

/** A daemon of a fleet. Instants are of the database's clock, in milliseconds since 1970. */
export interface FleetDaemon {
  readonly name: string
  readonly version: string
  /** Begins of the digests of the parts of its configuration: equal where those are. */
  readonly configuration: string
  /** The lanes that it works. */
  readonly lanes: readonly string[]
  /** Ids of the protocols that it delivers. */
  readonly delivers: readonly string[]
  /** Present when it sends the heartbeat and the notifications of the fleet. */
  readonly isReporting?: true
  readonly startedAtMs: number
  readonly seenAtMs: number
  /** Present when it was not seen for longer than a heartbeat: others take over what it had. */
  readonly isAway?: true
}

/** A lane with due hours that no living daemon works. */
interface IdleLane {
  readonly lane: string
  /** Number of its due hours, at least 1. */
  readonly hours: number
  readonly oldest: Hour
  /** The same as a sentence, with what to do. */
  readonly reason: string
}

/** Rows of a fleet, and the database's clock when they were read, in milliseconds since 1970. */
interface FleetRows {
  readonly daemons: readonly SeenDaemon[]
  readonly dueLanes: readonly DueLane[]
  readonly nowMs: number
  /** The service that counts for the fleet; absent until one was written. */
  readonly service?: Identity
  /** Ids of the protocols that the reader knows; differences between keys name them. Default: none. */
  readonly protocolIds?: readonly string[]
  /** As in `FleetState`. Default: none. */
  readonly troubles?: readonly string[]
}

/** The role of reporting to people. */
const reportsRole = 'reports'

/** Bytes of the digest of a part that are shown. */
const shownBytes = 2

/** Distance of a machine's clock from the database's from which it is named, in milliseconds. */
const clockOffMsMin = 60_000

/** Time since a daemon was seen after which the collectors that it left behind are named: one that is started again has its lease then. */
const leftBehindMs = daemonAwayMs + 3_000

/** Protocols that are named of those that a daemon delivers. */
const deliversShown = 3

interface FleetInput {
  readonly config: Pick<Config, 'service'> & {
    readonly protocols: readonly { readonly id: string; readonly collectors: readonly { readonly id: string }[] }[]
  }
  readonly outbox: Pick<Outbox, 'sharedOutbox'>
  readonly nowMs: number
  /** Troubles that the daemon alone knows. Default: none. */
  readonly fleetTroubles?: readonly string[] | undefined
  /** All troubles, as the running daemon has found them. Default: they are found here. */
  readonly daemonTroubles?: readonly string[] | undefined
}

/** The state of the fleet; `undefined` where the outbox belongs to one daemon, of which nothing is read. */
export async function readFleet({
  config,
  outbox,
  nowMs,
  fleetTroubles = [],
  daemonTroubles,
}: FleetInput): Promise<FleetState | undefined> {
  const store = outbox.sharedOutbox?.store
  if (!store) return undefined
  const collectors = config.protocols.flatMap(protocol => protocol.collectors.map(({ id }) => id))
  const [databaseNowMs, daemons, dueLanes, [service]] = await Promise.all([
    store.nowMs(),
    store.daemons(),
    store.dueLanes(collectors, hourAt(nowMs)),
    store.identities([serviceIdentity]),
  ])
  const protocolIds = config.protocols.map(({ id }) => id)
  const otherService = otherServiceSentence(serviceAt(serviceAddress(config)), service)
  const troubles = daemonTroubles ?? [otherService ?? [], fleetTroubles].flat()
  return fleetState({ daemons, dueLanes, nowMs: databaseNowMs, protocolIds, troubles, ...(service && { service }) })
}

/** Digest of a part of a configuration, as daemons announce it. */
export function partDigest(content: unknown): Buffer {
  const text = JSON.stringify(content) ?? ''
  return createHash('sha256').update(text).digest().subarray(0, partBytes)
}

/** The roles of a daemon in words; empty where it has none. */
export function rolesText({ delivers, isReporting }: Pick<FleetDaemon, 'delivers' | 'isReporting'>): string {
  const [shown, more] = [delivers.slice(0, deliversShown), delivers.length - deliversShown]
  const rest = more > 0 ? ` and ${more} more` : ''
  const delivery = delivers.length > 0 ? [`delivers ${shown.join(', ')}${rest}`] : []
  return [...delivery, ...(isReporting ? ['reports'] : [])].join(', ')
}

/** The state of a fleet by its rows. Pure. */
export function fleetState({
  daemons,
  dueLanes,
  nowMs,
  service,
  protocolIds = [],
  troubles = [],
}: FleetRows): FleetState {
  const members = daemons.map(({ name, version, digest, lanes, roles, startedAtMs, seenAtMs }): FleetDaemon => {
    const isAway = nowMs - seenAtMs > daemonAwayMs
    // Others have taken over what it had.
    const heldRoles = isAway ? [] : roles
    return {
      ...{ name, version, lanes, startedAtMs, seenAtMs },
      delivers: deliveredBy({ roles: heldRoles }),
      ...(heldRoles.includes(reportsRole) && { isReporting: true as const }),
      configuration: configurationParts
        .map((_, place) => partOf(digest, place).toString('hex', 0, shownBytes))
        .join(''),
      ...(isAway && { isAway: true as const }),
    }
  })
  const livingDaemons = members.filter(({ isAway }) => !isAway)
  const livingRows = daemons.filter((_, place) => !members[place]?.isAway)
  const workedLanes = new Set(livingDaemons.flatMap(({ lanes }) => lanes))
  const fleetDifferences = [
    ...versionDifference(livingDaemons),
    ...configurationDifferences(livingRows, protocolIds, service),
    ...livingRows.flatMap(row => serviceDifference(row, service)),
    ...livingRows.flatMap(definitionDifference),
    ...livingRows.flatMap(failure),
    ...livingRows.flatMap(nameDifference),
    ...livingRows.flatMap(clockDifference),
    ...daemons.filter(({ seenAtMs }) => nowMs - seenAtMs > leftBehindMs).flatMap(leftBehindDifference),
  ]
  return {
    daemons: members,
    troubles: [...new Set(troubles.map(asSentence))],
    idleLanes: dueLanes
      .filter(({ lane }) => !workedLanes.has(lane))
      .map(lane => ({ ...lane, reason: idleSentence(lane) })),
    differences: fleetDifferences.map(({ reason, fix }) => `${reason}. ${fix}.`),
    differing: fleetDifferences,
  }
}

function idleSentence({ lane, hours, oldest }: DueLane): string {
  const count = hours === 1 ? '1 hour is' : `${hours} hours are`
  return `No living daemon works the lane ${lane}, and ${count} due there, the oldest ${hourText(oldest)}. ${idleFix(lane)}.`
}

function idleFix(lane: string): string {
  const [kind, ...name] = lane.split('/')
  if (kind === 'machine') {
    return `Start the daemon ${name.join('/')} again, or name another one as the machine of its collectors`
  }
  const needs = lane === 'web' ? '' : ', and that reaches a node of the chain'
  return `Start a daemon whose fleet.lanes has it${needs}`
}

function versionDifference(livingDaemons: readonly FleetDaemon[]): FleetDifference[] {
  const groups = grouped(livingDaemons, ({ version }) => version)
  if (groups.length < 2) return []
  const each = groups.map(([version, names]) => `${version} on ${names}`).join(', ')
  return [{ kind: 'version', reason: `The daemons have different versions: ${each}`, fix: 'Update them to the same' }]
}

/** Differences of parts in words. Of keys those of the same protocol are compared: a machine may have protocols of its own. */
const partWords: Readonly<Record<(typeof configurationParts)[number], readonly [what: string, fix: string]>> = {
  service: ['service.url', 'Give all of them the same'],
  keys: ['keys of the service', 'Where that lasts after a rotation, give all of them the same'],
  collectors: [
    'collectors or options',
    'Hours of a collector that one lacks wait for a daemon that has it: give all of them the same configuration',
  ],
  settings: [
    'settings (delivery, collect, outbox, reports)',
    'Those of the daemon with the role count: make them the same',
  ],
}

/** @param service where it is known, each daemon with another one is named alone */
function configurationDifferences(
  livingDaemons: readonly SeenDaemon[],
  protocolIds: readonly string[],
  service: Identity | undefined,
): FleetDifference[] {
  return configurationParts.flatMap((part, place) => {
    const [partName, fix] = partWords[part]
    if (part === 'keys') return keyDifference(livingDaemons, protocolIds)
    if (part === 'service' && service) return []
    const groups = grouped(livingDaemons, ({ digest }) => shortHex(partOf(digest, place)))
    const reason = `The daemons have different ${partName}: ${eachOf(groups)}`
    return groups.length < 2 ? [] : [{ kind: part, reason, fix }]
  })
}

/** The first protocol that daemons push with different keys to one service, and how many more. A key belongs to its service. */
function keyDifference(livingDaemons: readonly SeenDaemon[], protocolIds: readonly string[]): FleetDifference[] {
  const idOf = new Map(protocolIds.map(id => [partDigest(id).toString('hex'), id]))
  const keysOf = new Map(livingDaemons.map(({ name, digest }) => [name, keyDigests(digest)]))
  const protocols = new Set([...keysOf.values()].flatMap(keys => [...keys.keys()]))
  const keyDifferences = [...protocols].flatMap(protocol => {
    const having = livingDaemons.filter(({ name }) => keysOf.get(name)?.has(protocol))
    const byService = Map.groupBy(having, ({ digest }) => partOf(digest, 0).toString('hex'))
    return [...byService.values()].flatMap(pushing => {
      const groups = grouped(pushing, ({ name }) => keysOf.get(name)?.get(protocol) ?? '')
      return groups.length < 2 ? [] : [{ id: idOf.get(protocol) ?? 'a protocol', groups }]
    })
  })
  const [first] = keyDifferences
  if (!first) return []
  const [what, fix] = partWords.keys
  const more = keyDifferences.length > 1 ? ` and ${keyDifferences.length - 1} more` : ''
  const reason = `The daemons have different ${what} for ${first.id}${more}: ${eachOf(first.groups)}`
  return [{ kind: 'keys', reason, fix }]
}

/** Digests of keys by those of the ids of their protocols, which follow the parts. */
function keyDigests(digest: Buffer): ReadonlyMap<string, string> {
  const digests = digest.subarray(configurationParts.length * partBytes)
  const count = Math.floor(digests.length / (2 * partBytes))
  return new Map(
    Array.from({ length: count }, (_, place) => [
      partOf(digests, 2 * place).toString('hex'),
      shortHex(partOf(digests, 2 * place + 1)),
    ]),
  )
}

function shortHex(digest: Buffer): string {
  return digest.toString('hex', 0, 2 * shownBytes)
}

function eachOf(groups: readonly [value: string, names: string][]): string {
  return groups.map(([value, names]) => `${value} on ${names}`).join(', ')
}

function partOf(digest: Buffer, place: number): Buffer {
  return digest.subarray(place * partBytes, (place + 1) * partBytes)
}

/** The digest of a part is the begin of what is written of the service. */
function serviceDifference({ name, digest }: SeenDaemon, service: Identity | undefined): FleetDifference[] {
  if (!service || digest.length === 0 || service.digest.subarray(0, partBytes).equals(partOf(digest, 0))) return []
  const reason = `The service.url of ${name} is not the service of this fleet: it delivers nothing`
  const fix = 'Correct it, or run tidegauge fleet take service where the right one is configured'
  return [{ kind: 'service', daemon: name, reason, fix }]
}

function leftBehindDifference({ name, leftBehind }: SeenDaemon): FleetDifference[] {
  const [first] = leftBehind
  if (first === undefined) return []
  const reason = `No living daemon runs ${firstOf(leftBehind)}, which ${name} ran until it died`
  const fix = `Start ${name} again, or give another daemon its configuration; where others define it otherwise, theirs counts after a quarter of an hour, or with tidegauge fleet take collector ${first}`
  return [{ kind: 'no-daemon', daemon: name, reason, fix }]
}

/** The first of some ids, and how many more there are. */
function firstOf([first = '', ...more]: readonly string[]): string {
  return more.length === 0 ? first : `${first} and ${more.length} more`
}

function definitionDifference({ name, differing: collectorIds }: SeenDaemon): FleetDifference[] {
  const [first] = collectorIds
  if (first === undefined) return []
  const named = firstOf(collectorIds)
  const reason = `${name} defines ${named} otherwise (code or options): it leaves its hours to the other daemons`
  const fix = `Give all the same configuration, or run tidegauge fleet take collector ${first} where the right one is`
  return [{ kind: 'definition', daemon: name, reason, fix }]
}

function failure({ name, failing: failureReason }: SeenDaemon): FleetDifference[] {
  if (failureReason === undefined) return []
  const reason = `${name} does not get through to the service: ${failureReason}`
  const fix = `Where another daemon does, that one delivers; tidegauge doctor on ${name} says what to do`
  return [{ kind: 'failing', daemon: name, reason, fix }]
}

function nameDifference({ name, host, pid, namesake }: SeenDaemon): FleetDifference[] {
  if (namesake === undefined) return []
  const reason = `Two daemons have the name ${name} (${host}, pid ${pid}; ${namesake})`
  return [{ kind: 'name', daemon: name, reason, fix: 'Give each a fleet.name of its own' }]
}

function clockDifference({ name, clockOffMs }: SeenDaemon): FleetDifference[] {
  if (Math.abs(clockOffMs) < clockOffMsMin) return []
  const off = `${Math.round(Math.abs(clockOffMs) / 1_000)} s ${clockOffMs > 0 ? 'ahead of' : 'behind'}`
  const reason = `The clock of ${name} is ${off} the database's, by which the fleet goes`
  return [{ kind: 'clock', daemon: name, reason, fix: 'Set one of them right' }]
}

/** The names of daemons with the same value, by value. */
function grouped<T extends { readonly name: string }>(
  livingDaemons: readonly T[],
  ofDaemon: (daemon: T) => string,
): [string, string][] {
  const groups = Map.groupBy(livingDaemons, ofDaemon)
  return [...groups].map(([value, daemons]) => [value, daemons.map(({ name }) => name).join(' and ')])
}
