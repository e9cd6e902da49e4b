import { hourText } from '../model/hour.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * Version of the form of `/status.json`. It grows by one when a field is removed or means something else; fields may be
 * added without that. `docs/status.md` describes it.
 */
export const statusFormat = 1

/**
 * `/status.json`: the snapshot with the same names and nesting, and instants as text.
 *
 * - An hour is text at a full UTC hour: `2026-11-20T13:00:00Z`.
 * - An instant is ISO 8601 text with milliseconds in UTC, under the name without the unit: `nowMs` is `now`,
 * `startedAtMs` is `startedAt`, `nextAttemptMs` is `nextAttempt`, `lastPush.atMs` is `lastPush.at`, `inForceSinceMs` is
 * `inForceSince`, `restsUntilMs` is `restsUntil`, `readAtMs` is `readAt`, `firstSeenMs` is `firstSeen`,
 * `retryAfterUntilMs` is `retryAfterUntil`, `seenAtMs` is `seenAt`, `probeAtMs` is `probeAt`.
 * - `hours` has the last 48 hours, a cell each; `week` the last seven days, with consecutive hours of one state and reason
 * as one run (`from`, `hours`, `state`, and why). Only `week` has the rows of collectors that are no longer configured.
 * - An unknown value is absent; only in a `curve` it is `null`.
 */
export function statusJson(snapshot: Snapshot) {
  const { nowMs, startedAtMs, configuration, service, backlog, endpoints, fleet, ...others } = snapshot
  const { protocols, hours, week, warnings, ...same } = others
  return {
    format: statusFormat,
    ...same,
    now: instantText(nowMs),
    startedAt: instantText(startedAtMs),
    configuration: configurationJson(configuration),
    service: serviceJson(service),
    backlog: backlogJson(backlog),
    endpoints: endpoints.map(endpointJson),
    ...(fleet && { fleet: fleetJson(fleet) }),
    protocols: protocols.map(protocolJson),
    hours: { hours: hours.hours.map(hourText), rows: hours.rows },
    week: weekJson(week),
    warnings: warnings.map(warningJson),
  }
}

/** The answer of `/status.json`. */
export type StatusJson = ReturnType<typeof statusJson>

function configurationJson({ file, named, inForceSinceMs, refused }: Snapshot['configuration']) {
  return {
    file,
    ...(named !== undefined && { named }),
    inForceSince: instantText(inForceSinceMs),
    ...(refused && { refused: { at: instantText(refused.atMs), reason: refused.reason } }),
  }
}

function serviceJson({ lastPush, nextAttemptMs, gates, ...same }: Snapshot['service']) {
  return {
    ...same,
    ...(lastPush && { lastPush: { at: instantText(lastPush.atMs), verdict: lastPush.verdict } }),
    ...(nextAttemptMs === undefined ? {} : { nextAttempt: instantText(nextAttemptMs) }),
    gates: gates.map(({ retryAfterUntilMs, probeAtMs, ...gate }) => ({
      ...gate,
      ...(retryAfterUntilMs === undefined ? {} : { retryAfterUntil: instantText(retryAfterUntilMs) }),
      ...(probeAtMs === undefined ? {} : { probeAt: instantText(probeAtMs) }),
    })),
  }
}

function backlogJson({ byProtocol, late }: Snapshot['backlog']) {
  return { byProtocol, ...(late && { late: { oldest: hourText(late.oldest), metrics: late.metrics } }) }
}

function endpointJson({ restsUntilMs, head, ...same }: Snapshot['endpoints'][number]) {
  return {
    ...same,
    ...(restsUntilMs === undefined ? {} : { restsUntil: instantText(restsUntilMs) }),
    ...(head && { head: { number: head.number, at: instantText(head.atMs) } }),
  }
}

function fleetJson({ daemons, idleLanes, differences }: NonNullable<Snapshot['fleet']>) {
  return {
    daemons: daemons.map(({ startedAtMs, seenAtMs, ...daemon }) => ({
      ...daemon,
      startedAt: instantText(startedAtMs),
      seenAt: instantText(seenAtMs),
    })),
    idleLanes: idleLanes.map(lane => ({ ...lane, oldest: hourText(lane.oldest) })),
    differences,
  }
}

function protocolJson({ readAtMs, metrics, ...same }: Snapshot['protocols'][number]) {
  return {
    ...same,
    ...(readAtMs === undefined ? {} : { readAt: instantText(readAtMs) }),
    metrics: metrics.map(({ hour, ...metric }) => ({
      ...metric,
      ...(hour === undefined ? {} : { hour: hourText(hour) }),
    })),
  }
}

function weekJson({ from, to, rows }: Snapshot['week']) {
  return {
    from: hourText(from),
    to: hourText(to),
    rows: rows.map(({ runs, ...row }) => ({
      ...row,
      runs: runs.map(run => ({ ...run, from: hourText(run.from) })),
    })),
  }
}

/** A warning with the names of `/status.json`. */
export function warningJson({ firstSeenMs, lastSeenMs, ...same }: Snapshot['warnings'][number]) {
  return { ...same, firstSeen: instantText(firstSeenMs), lastSeen: instantText(lastSeenMs) }
}

function instantText(ms: number): string {
  return new Date(ms).toISOString()
}
