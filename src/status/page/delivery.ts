import { numberText } from '../../model/number-text.ts'
import type { Balance, Warning } from '../../outbox/contract/metrics.ts'
import { type FleetDaemon, type FleetState, rolesText } from '../fleet.ts'
import { pushText } from '../sentences.ts'
import type { BacklogState, EndpointState, GateState, ServiceState, Snapshot } from '../snapshot.ts'
import { type CellShape, shapeIcon } from './hours.ts'
import { ago, dayClockText, type Html, html, nothing, spanText, until } from './html.ts'

/** Protocols listed with their backlog. */
const backlogMax = 12

/** The holds on pushes, the outbox's balance, and the service's last answer. */
export function delivery({ balance, backlog, service, nowMs, reports = [] }: Snapshot): Html {
  return html`<section aria-labelledby="delivery"><h2 id="delivery">Delivery</h2>
${gate(service, nowMs)}
<dl class="balance" aria-label="Metrics in the outbox">
${term('enqueued', balance.enqueued)}${term('delivered', balance.delivered, 'delivered')}${term('dead', balance.dead, 'dead')}${term('held', balance.held, 'held')}${term('due', balance.due, 'due')}
</dl>
${balanceNote(balance)}${dueNote(backlog)}${commands(balance)}
<dl class="facts"><div><dt>Service</dt><dd>${service.host}</dd></div><div><dt>Last push</dt><dd>${lastPush(service, nowMs)}</dd></div>${skew(service)}${reports.map(receiver)}</dl>
</section>`
}

/** A receiver of alerts, and why it does not take them. */
function receiver(report: NonNullable<Snapshot['reports']>[number]): Html {
  const state =
    report.failing === undefined
      ? html`${numberText(report.accepted)} reports accepted, ${numberText(report.refused)} refused`
      : html`<span class="notice">takes no report: ${report.failing}. It is sent again; <code>tidegauge notify test</code> tries it</span>`
  return html`<div><dt>Alerts</dt><dd>${report.receiver}: ${state}</dd></div>`
}

/** Each hold with its end. */
function gate({ waiting: waitSentence, gates, lastPush }: ServiceState, nowMs: number): Html {
  const holds = gates.map(hold => gateText(hold, gates.length > 1, nowMs)).filter(hold => hold !== nothing)
  if (waitSentence === undefined && holds.length === 0) {
    return lastPush ? html`<p class="quiet gate">Nothing holds pushes back.</p>` : nothing
  }
  return html`<div class="notice">${waitSentence === undefined ? nothing : html`<p>${waitSentence}</p>`}${
    holds.length === 0 ? nothing : html`<ul aria-label="Until when pushes are held back">${holds}</ul>`
  }</div>`
}

function gateText(
  { destination, retryAfterUntilMs, probeAtMs, failures }: GateState,
  isNamed: boolean,
  nowMs: number,
): Html {
  const name = isNamed ? html`<b>${destination}</b>: ` : nothing
  if (retryAfterUntilMs !== undefined) {
    return html`<li>${name}the service asked to wait until ${until(retryAfterUntilMs, nowMs)}</li>`
  }
  if (probeAtMs === undefined) return nothing
  const flushes = failures === 1 ? '1 failed flush' : `${failures} failed flushes in a row`
  return html`<li>${name}after ${flushes}, a small batch probes the service at ${until(probeAtMs, nowMs)}</li>`
}

/** The due metrics by protocol, and how late they are. */
function dueNote({ byProtocol, late: lateMetrics }: BacklogState): Html {
  if (byProtocol.length === 0) return nothing
  const restCount = byProtocol.length - backlogMax
  const removedProtocol = byProtocol.find(({ isRemoved }) => isRemoved)
  const one = ({ protocolId, due, isRemoved }: BacklogState['byProtocol'][number]) =>
    html`<li><span class="id">${protocolId}</span> ${numberText(due)}${isRemoved ? html` <span class="removed">removed</span>` : nothing}</li>`
  return html`<ul class="due-list quiet" aria-label="Due metrics by protocol">${byProtocol.slice(0, backlogMax).map(one)}${
    restCount > 0 ? html`<li>and ${restCount} more</li>` : nothing
  }</ul>${
    lateMetrics === undefined
      ? nothing
      : html`<p class="quiet">${numberText(lateMetrics.metrics)} of them should be delivered by now, the oldest of ${dayClockText(lateMetrics.oldest)}.</p>`
  }${
    removedProtocol === undefined
      ? nothing
      : html`<p class="quiet">What a removed protocol left is not delivered: <code>tidegauge due drop ${removedProtocol.protocolId}</code> gives it up.</p>`
  }`
}

/** The commands that list what waits for a person. */
function commands({ dead: deadCount, held: heldCount, due: dueCount }: Balance): Html {
  const items = [
    ...(deadCount > 0 ? [html`<li><code>tidegauge dead ls</code> lists what the service refused</li>`] : []),
    ...(heldCount > 0 ? [html`<li><code>tidegauge held ls</code> lists what is implausible</li>`] : []),
    ...(dueCount > 0 ? [html`<li><code>tidegauge due ls</code> lists what is on its way, and why it waits</li>`] : []),
  ]
  return items.length === 0 ? nothing : html`<ul class="commands quiet" aria-label="Commands">${items}</ul>`
}

/** Shown from a second on: the service's date has whole seconds. */
function skew({ skewMs }: ServiceState): Html {
  if (skewMs === undefined || Math.abs(skewMs) < 2_000) return nothing
  return html`<div><dt>Clock</dt><dd>${spanText(Math.abs(skewMs))} ${skewMs > 0 ? 'behind' : 'ahead of'} the service’s</dd></div>`
}

function term(name: string, count: number, shape?: CellShape): Html {
  return html`<div class="${name}${count === 0 ? ' zero' : ''}"><dt>${shape ? shapeIcon(shape) : nothing} ${name}</dt><dd>${numberText(count)}</dd></div>`
}

/** Note when the balance does not add up: a metric in no state was lost. */
function balanceNote(balance: Balance): Html {
  const missingCount = balance.enqueued - balance.delivered - balance.dead - balance.held - balance.due
  if (balance.enqueued === 0) return html`<p class="quiet">Nothing is enqueued yet.</p>`
  if (missingCount !== 0) {
    return html`<p class="notice">These numbers do not add up: ${numberText(missingCount)} of the enqueued metrics are in no state. Keep the outbox file and report this.</p>`
  }
  return html`<p class="quiet">Every metric that was enqueued is delivered, dead, held or due.</p>`
}

function lastPush({ lastPush }: ServiceState, nowMs: number): Html {
  if (!lastPush) return html`none yet`
  const next = lastPush.verdict === 'transient' ? ', it is tried again' : ''
  return html`${pushText(lastPush)}${next}, ${ago(lastPush.atMs, nowMs)}`
}

/** The roles repeat what the elements say, because rows are laid out as blocks where the page is narrow. */
function table(labelledBy: string, columns: readonly string[], rows: readonly Html[]): Html {
  return html`<table class="endpoints" role="table" aria-labelledby="${labelledBy}"><thead role="rowgroup"><tr role="row">${columns.map(
    name => html`<th role="columnheader" scope="col">${name}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows}</tbody></table>`
}

/** The endpoints by chain; empty without a chain. */
export function endpoints(states: readonly EndpointState[], nowMs: number): Html {
  if (states.length === 0) return nothing
  const rows = states.map(state => endpoint(state, nowMs))
  return html`<section aria-labelledby="chains"><h2 id="chains">Chains</h2>
${table('chains', ['Chain', 'Endpoint', 'State', 'Head', 'Depth', 'Limits'], rows)}
</section>`
}

function endpoint(state: EndpointState, nowMs: number): Html {
  return html`<tr role="row"><td role="cell">${state.chain}</td><th role="rowheader" scope="row" class="id">${state.host}</th><td role="cell"${
    state.state === 'well' || state.state === 'unasked' ? nothing : html` class="old"`
  }>${stateText(state, nowMs)}</td><td role="cell">${headText(state, nowMs)}</td><td role="cell">${depthText(state)}</td><td role="cell">${limitsText(state)}</td></tr>
`
}

/** Why an endpoint could not serve when it was asked last. */
const troubleText: Readonly<Record<NonNullable<EndpointState['trouble']>, string>> = {
  unreachable: 'it did not answer',
  'wrong-id': 'it serves another chain',
  behind: 'it is behind the chain',
  pruned: 'it lacks the state of old blocks',
  limited: 'it limits the rate of calls',
}

function stateText({ state, reason, restsUntilMs, trouble }: EndpointState, nowMs: number): Html {
  if (state === 'no-address') return html`${reason ?? 'has no address'}`
  if (state === 'wrong-id') return html`serves another chain`
  if (state === 'quarantine') {
    return html`in quarantine${restsUntilMs === undefined ? nothing : html` until ${until(restsUntilMs, nowMs)}`}: ${reason ?? 'another host answered otherwise'}`
  }
  if (state === 'resting') {
    return html`${trouble === undefined ? 'failed' : troubleText[trouble]}, others are asked first${restsUntilMs === undefined ? nothing : html` until ${until(restsUntilMs, nowMs)}`}`
  }
  if (trouble !== undefined) return html`asked last, ${troubleText[trouble]}`
  return state === 'unasked' ? html`not asked yet` : html`well`
}

function headText({ head }: EndpointState, nowMs: number): Html {
  if (!head) return html`<span class="quiet">last block not known yet</span>`
  return html`block ${numberText(head.number)}, ${ago(head.atMs, nowMs)}`
}

/** The oldest block whose state was read so far: it may have older ones. */
function depthText({ head, servesStateFrom }: EndpointState): Html {
  if (servesStateFrom === undefined) return html`<span class="quiet">depth not known yet</span>`
  const deep = head ? head.number - servesStateFrom : 0
  const blocks = head ? ` (${numberText(deep)} ${deep === 1 ? 'block' : 'blocks'})` : ''
  return html`state at least from block ${numberText(servesStateFrom)}${blocks}`
}

function limitsText({ callsPerSecondMax, batchCallsMax }: EndpointState): Html {
  const limits = [
    ...(callsPerSecondMax === undefined ? [] : [`${numberText(callsPerSecondMax)} calls a second`]),
    ...(batchCallsMax === undefined ? [] : [`${numberText(batchCallsMax)} calls a request`]),
  ]
  return limits.length === 0 ? html`<span class="quiet">no limit known</span>` : html`${limits.join(', ')}`
}

/** The daemons that share the outbox; empty where it belongs to one. */
export function fleet(state: FleetState | undefined, nowMs: number): Html {
  if (!state) return nothing
  const rows = state.daemons.map(each => daemon(each, nowMs))
  const notes = [...state.idleLanes.map(({ reason }) => reason), ...state.differences]
  return html`<section aria-labelledby="fleet"><h2 id="fleet">Fleet</h2>
${notes.length === 0 ? nothing : html`<ul class="warnings">${notes.map(note => html`<li>${note}</li>`)}</ul>`}
${table('fleet', ['Daemon', 'State', 'Lanes', 'Roles', 'Version', 'Configuration'], rows)}
</section>`
}

function daemon({ name, version, configuration, lanes, seenAtMs, isAway, ...roles }: FleetDaemon, nowMs: number): Html {
  return html`<tr role="row"><th role="rowheader" scope="row" class="id">${name}</th><td role="cell"${
    isAway ? html` class="old"` : nothing
  }>${isAway ? 'away, ' : ''}seen ${ago(seenAtMs, nowMs)}</td><td role="cell">${lanes.join(', ')}</td><td role="cell">${rolesText(roles)}</td><td role="cell">${version}</td><td role="cell">${configuration}</td></tr>
`
}

/** Warnings shown; further ones are counted. */
const warningsMax = 20

/** The service's warnings that no person has acknowledged, each with its count. @param states the latest first */
export function warnings(states: readonly Warning[], nowMs: number): Html {
  const restCount = states.length - warningsMax
  return html`<section aria-labelledby="warnings"><h2 id="warnings">Warnings of the service</h2>${
    states.length === 0
      ? html`<p class="empty">None. What the service remarks about a push is kept here.</p>`
      : html`<ul class="warnings">${states.slice(0, warningsMax).map(state => warning(state, nowMs))}${
          restCount > 0 ? html`<li class="quiet">and ${restCount} more</li>` : nothing
        }</ul><p class="quiet commands"><code>tidegauge warnings</code> lists them; <code>tidegauge warnings ack --all</code> takes them off this page.</p>`
  }</section>`
}

function warning({ metricId, text, count, firstSeenMs, lastSeenMs }: Warning, nowMs: number): Html {
  const times = count === 1 ? html`once, ${ago(lastSeenMs, nowMs)}` : repeated(count, firstSeenMs, lastSeenMs, nowMs)
  return html`<li><p>${text}</p><p class="quiet">${metricId === undefined ? '' : html`<span class="id">${metricId}</span> · `}${times}</p></li>`
}

function repeated(count: number, firstSeenMs: number, lastSeenMs: number, nowMs: number): Html {
  return html`${numberText(count)} times, last ${ago(lastSeenMs, nowMs)}, first ${ago(firstSeenMs, nowMs)}`
}
