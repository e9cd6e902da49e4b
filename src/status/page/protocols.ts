import type { ProtocolState } from '../snapshot.ts'
import { type Html, html, nothing } from './html.ts'
import { metricTable } from './metric-table.ts'
import { ago } from './when.ts'
import { valuelessWidget, widget } from './widget.ts'

/** Metrics up to which each has a card. Of more, all are rows of one table, up to a number: the page is loaded often. */
const cardsMax = 40
const rowsMax = 100

const example = `protocols:
  - id: my-server
    name: My server
    collectors:
      - use: host`

/** Every protocol with its widget. */
export function protocols(states: readonly ProtocolState[], nowMs: number): Html {
  const count = states.reduce((sum, { metrics }) => sum + metrics.length, 0)
  return html`<section aria-labelledby="protocols">
<h2 id="protocols">Protocols</h2>
${states.length === 0 ? noProtocol() : nothing}
${count > 0 ? html`<p class="quiet note">Curves are of the last 48 hours${count <= cardsMax ? '; a thin line is midnight UTC' : ''}. A metric’s name opens its last 30 days.</p>` : nothing}
${count <= cardsMax ? html`<div class="protocols">${states.map(state => protocol(state, nowMs))}</div>` : table(states, count, nowMs)}
</section>`
}

function protocol(state: ProtocolState, nowMs: number): Html {
  const { withoutValue = [] } = state
  const cards = state.metrics.length + withoutValue.length
  // With one or two cards it leaves room for its neighbours.
  const size = cards <= 1 ? ' one' : cards === 2 ? ' two' : ''
  return html`<article class="protocol${size}">
<header><span class="initials" aria-hidden="true">${initialsOf(state.name)}</span>
<div><h3>${state.name}</h3><p class="quiet">${
    state.name === state.id ? nothing : html`<span class="id">${state.id}</span> · `
  }${source(state, nowMs)}</p></div></header>
${
  state.metrics.length + withoutValue.length === 0
    ? html`<p class="empty">No metric yet. They appear with the first hour that a collector of this protocol is run for.</p>`
    : html`<ul class="widgets">${state.metrics.map(metric => widget(metric, nowMs))}${withoutValue.map(one => valuelessWidget(one, state.id))}</ul>`
}
</article>`
}

function table(states: readonly ProtocolState[], count: number, nowMs: number): Html {
  let left = rowsMax
  const groups = states.flatMap(state => {
    const metrics = state.metrics.slice(0, left)
    left -= metrics.length
    // One whose metrics are all left out is counted with them.
    if (metrics.length === 0 && state.metrics.length > 0) return []
    return [{ name: state.name, source: source(state, nowMs), metrics }]
  })
  const more = count - rowsMax
  return html`${metricTable(groups, nowMs)}${
    more > 0
      ? html`<p class="quiet">and ${more} more metrics: <a href="/status.json">status.json</a> has all of them</p>`
      : nothing
  }`
}

function source({ readAtMs, isRemoved }: ProtocolState, nowMs: number): Html {
  if (isRemoved) return html`<span class="removed">no longer configured</span> last values of this outbox`
  if (readAtMs !== undefined) return html`read from the service ${ago(readAtMs, nowMs)}`
  return html`values of this outbox; the service could not be read`
}

function noProtocol(): Html {
  return html`<div class="empty"><p>No protocol is configured yet. Add one to the configuration file and look it over with
<code>tidegauge check</code>; the daemon takes the changed file. This one needs no account and no chain:</p>
<pre><code>${example}</code></pre></div>`
}

/**
 * One or two letters in place of a logo: its address is on another host, and the page loads nothing from other hosts.
 */
export function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}]\p{M}*/gu) ? name.split(/[^\p{L}\p{N}\p{M}]+/u).filter(word => word !== '') : []
  const letters = words.slice(0, 2).map(word => Array.from(word)[0] ?? '')
  return letters.join('').toUpperCase() || '·'
}
