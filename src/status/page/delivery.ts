import { numberText } from '../../model/number-text.ts'
import { commandLine } from '../../model/text.ts'
import type { Balance } from '../../outbox/contract/balance.ts'
import type { BacklogState, GateState, ServiceState, Snapshot } from '../snapshot.ts'
import { type CellLook, shape } from './cell.ts'
import { type Html, html, nothing } from './html.ts'
import { ago, dayClockText, spanText, until } from './when.ts'

/** Protocols listed with their backlog. */
const backlogMax = 12

/** The holds on pushes, the outbox's balance, and the service's last answer. */
export function delivery({ balance, backlog, service, nowMs, configuration: { named }, reports = [] }: Snapshot): Html {
  return html`<section aria-labelledby="delivery"><h2 id="delivery">Delivery</h2>
${gate(service, nowMs)}
<dl class="balance" aria-label="Metrics in the outbox">
${term('enqueued', balance.enqueued)}${term('delivered', balance.delivered, 'delivered')}${term('dead', balance.dead, 'dead')}${term('held', balance.held, 'held')}${term('due', balance.due, 'due')}
</dl>
${balanceNote(balance)}${dueNote(backlog, named)}${commands(balance, named)}
<dl class="facts"><div><dt>Service</dt><dd>${service.host}</dd></div><div><dt>Last push</dt><dd>${lastPush(service, nowMs)}</dd></div>${skew(service)}${reports.map(report => receiver(report, named))}</dl>
</section>`
}

/** A receiver of alerts, and why it does not take them. */
function receiver(
  { receiver: name, accepted, refused, failing }: NonNullable<Snapshot['reports']>[number],
  named: string | undefined,
): Html {
  const test = commandLine('notify test', named)
  const state =
    failing === undefined
      ? html`${numberText(accepted)} reports accepted, ${numberText(refused)} refused`
      : html`<span class="notice">takes no report: ${failing}. It is sent again; <code>${test}</code> tries it</span>`
  return html`<div><dt>Alerts</dt><dd>${name}: ${state}</dd></div>`
}

/** Each hold with its end. */
function gate({ waiting, gates, lastPush }: ServiceState, nowMs: number): Html {
  const holds = gates.map(hold => gateText(hold, gates.length > 1, nowMs)).filter(hold => hold !== nothing)
  if (waiting === undefined && holds.length === 0) {
    return lastPush ? html`<p class="quiet gate">Nothing holds pushes back.</p>` : nothing
  }
  return html`<div class="notice">${waiting === undefined ? nothing : html`<p>${waiting}</p>`}${
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
function dueNote({ byProtocol, late }: BacklogState, named: string | undefined): Html {
  if (byProtocol.length === 0) return nothing
  const rest = byProtocol.length - backlogMax
  const removed = byProtocol.find(({ isRemoved }) => isRemoved)
  const one = ({ protocolId, due, isRemoved }: BacklogState['byProtocol'][number]) =>
    html`<li><span class="id">${protocolId}</span> ${numberText(due)}${isRemoved ? html` <span class="removed">removed</span>` : nothing}</li>`
  return html`<ul class="due-list quiet" aria-label="Due metrics by protocol">${byProtocol.slice(0, backlogMax).map(one)}${
    rest > 0 ? html`<li>and ${rest} more</li>` : nothing
  }</ul>${
    late === undefined
      ? nothing
      : html`<p class="quiet">${numberText(late.metrics)} of them should be delivered by now, the oldest of ${dayClockText(late.oldest)}.</p>`
  }${
    removed === undefined
      ? nothing
      : html`<p class="quiet">What a removed protocol left is not delivered: <code>${commandLine(`due drop ${removed.protocolId}`, named)}</code> gives it up.</p>`
  }`
}

/** The commands that list what waits for a person. */
function commands({ dead, held, due }: Balance, named: string | undefined): Html {
  const listed = [
    ...(dead > 0 ? [html`<li><code>${commandLine('dead ls', named)}</code> lists what the service refused</li>`] : []),
    ...(held > 0 ? [html`<li><code>${commandLine('held ls', named)}</code> lists what is implausible</li>`] : []),
    ...(due > 0
      ? [html`<li><code>${commandLine('due ls', named)}</code> lists what is on its way, and why it waits</li>`]
      : []),
  ]
  return listed.length === 0 ? nothing : html`<ul class="commands quiet" aria-label="Commands">${listed}</ul>`
}

/** Shown from a second on: the service's date has whole seconds. */
function skew({ skewMs }: ServiceState): Html {
  if (skewMs === undefined || Math.abs(skewMs) < 2_000) return nothing
  return html`<div><dt>Clock</dt><dd>${spanText(Math.abs(skewMs))} ${skewMs > 0 ? 'behind' : 'ahead of'} the service’s</dd></div>`
}

function term(name: string, count: number, look?: CellLook): Html {
  return html`<div class="${name}${count === 0 ? ' zero' : ''}"><dt>${look ? shape(look) : nothing} ${name}</dt><dd>${numberText(count)}</dd></div>`
}

/** Note when the balance does not add up: a metric in no state was lost. */
function balanceNote({ enqueued, delivered, dead, held, due }: Balance): Html {
  const missing = enqueued - delivered - dead - held - due
  if (enqueued === 0) return html`<p class="quiet">Nothing is enqueued yet.</p>`
  if (missing !== 0) {
    return html`<p class="notice">These numbers do not add up: ${numberText(missing)} of the enqueued metrics are in no state. Keep the outbox file and report this.</p>`
  }
  return html`<p class="quiet">Every metric that was enqueued is delivered, dead, held or due.</p>`
}

/** Verdicts of a push in words of a reader. */
const pushWords: Readonly<Record<string, string>> = {
  transient: 'not accepted, it is tried again',
  'key-refused': 'the key was refused',
  'protocol-refused': 'the protocol was refused',
  misdirected: 'sent elsewhere by a redirect',
}

function lastPush({ lastPush }: ServiceState, nowMs: number): Html {
  if (!lastPush) return html`none yet`
  return html`${pushWords[lastPush.verdict] ?? lastPush.verdict}, ${ago(lastPush.atMs, nowMs)}`
}
