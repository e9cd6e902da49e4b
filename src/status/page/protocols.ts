import { type Hour, hourAfter, hourAt } from '../../model/hour.ts'
import { hourMs, overdueMs } from '../../model/limits.ts'
import type { MetricId } from '../../model/metric.ts'
import { exactText, numberText, signedText } from '../../model/number-text.ts'
import { shortened } from '../../model/text.ts'
import type { HistoryHour } from '../history.ts'
import type { ProtocolState, WidgetMetric } from '../snapshot.ts'
import { ago, clockText, dayClockText, type Html, hourTime, html, nothing, ownId, spanText } from './html.ts'

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
  const count = states.reduce((sum, { metrics, withoutValue = [] }) => sum + metrics.length + withoutValue.length, 0)
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
  let rowsLeft = rowsMax
  const groups = states.flatMap(state => {
    const metrics = state.metrics.slice(0, rowsLeft)
    rowsLeft -= metrics.length
    const withoutValue = (state.withoutValue ?? []).slice(0, rowsLeft)
    rowsLeft -= withoutValue.length
    // One whose metrics are all left out is counted with them.
    if (metrics.length + withoutValue.length === 0 && state.metrics.length > 0) return []
    return [{ name: state.name, source: source(state, nowMs), metrics, withoutValue }]
  })
  const restCount = count - rowsMax
  return html`${metricTable(groups, nowMs)}${
    restCount > 0
      ? html`<p class="quiet">and ${restCount} more metrics: <a href="/status.json">status.json</a> has all of them</p>`
      : nothing
  }`
}

function source({ readAtMs, unread: unreadReason, isRemoved }: ProtocolState, nowMs: number): Html {
  if (isRemoved) return html`<span class="removed">no longer configured</span> last values of this outbox`
  if (readAtMs !== undefined) return html`read from the service ${ago(readAtMs, nowMs)}`
  return html`values of this outbox; ${unreadReason ?? 'the service has not answered yet'}`
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

/**
 * Length of a value with its unit, in digits, from which the font is smaller, so that it fits on one line of a card.
 */
const longValueChars = 14

/** Width of a character of the unit, in digits of the value. */
const unitCharWidth = 0.6

/** One metric: its value with the unit, its changes, its curve. */
export function widget(metric: WidgetMetric, nowMs: number): Html {
  const { id, label, unit, hour, curve } = metric
  return html`<li class="widget">
<div class="widget-head"><h4><a href="${historyPath(id)}" title="${id}">${label}</a></h4>${hour === undefined ? nothing : asOf(hour, isOld(metric, nowMs), nowMs)}</div>
${value(metric)}${isUnsent(metric) ? html`<p class="as-of old">${metric.state}: it was not sent</p>` : nothing}${metric.state === 'private' ? html`<p class="quiet">private: not sent</p>` : nothing}${metric.isRemoved ? html`<p><span class="removed">collector no longer configured</span></p>` : nothing}
<dl class="changes">${change('1 h', '1 hour', metric.change1h, unit)}${change('24 h', '24 hours', metric.change24h, unit)}</dl>
${sparkline({ label, unit, values: curve, lastHour: hourAt(nowMs) })}
</li>`
}

/** The card of a collector that has given no value, with why and what to do. */
function valuelessWidget(
  { collector, reason, fix }: NonNullable<ProtocolState['withoutValue']>[number],
  protocolId: string,
): Html {
  return html`<li class="widget">
<div class="widget-head"><h4>${ownId(collector, protocolId)}</h4></div>
<p class="value none">no value yet</p>
<p${fix === undefined ? html` class="quiet"` : nothing}>${reason}</p>${fix === undefined ? nothing : html`<p class="fix">${fix}</p>`}
</li>`
}

/** Whether the service will not get the value unless a person decides. */
export function isUnsent({ state }: { readonly state?: WidgetMetric['state'] | HistoryHour['state'] }): boolean {
  return state === 'held' || state === 'dead' || state === 'dropped'
}

/** Whether the next hour's value should be there. */
export function isOld({ hour, nextHour }: Pick<WidgetMetric, 'hour' | 'nextHour'>, nowMs: number): boolean {
  return hour !== undefined && nowMs - (nextHour ?? hour + hourMs) > overdueMs
}

function asOf(hour: Hour, isLate: boolean, nowMs: number): Html {
  if (!isLate) return html`<p class="as-of"><span class="unseen">as of </span>${hourTime(hour, clockText(hour))}</p>`
  return html`<p class="as-of old"><span class="unseen">as of </span>${hourTime(hour, dayClockText(hour))}, ${spanText(nowMs - hour)} old</p>`
}

function value({ value, unit }: WidgetMetric): Html {
  if (value === undefined) return html`<p class="value none">no value yet</p>`
  const text = numberText(value)
  const exact = `${exactText(value)}${unit === undefined ? '' : ` ${unit}`}`
  const isLong = text.length + (unit?.length ?? 0) * unitCharWidth >= longValueChars
  return html`<p class="value${isLong ? ' long' : ''}" title="${exact}"><data value="${value}">${text}</data>${
    unit === undefined ? nothing : html` <span class="unit">${unit}</span>`
  }</p>`
}

/** A change in the metric's unit, exactly as the service gives it: the interface does not say how it is computed. */
function change(short: string, long: string, difference: number | undefined, unit: string | undefined): Html {
  const term = html`<dt><abbr title="change over ${long}">${short}</abbr></dt>`
  if (difference === undefined) return html`<div>${term}<dd class="none" title="not known">–</dd></div>`
  const exact = `${difference}${unit === undefined ? '' : ` ${unit}`} over ${long}`
  const { arrow, words } = directionOf(difference)
  return html`<div>${term}<dd title="${exact}"><span role="img" class="arrow" aria-label="${words}">${arrow}</span> ${signedText(difference)}</dd></div>`
}

function directionOf(difference: number): { readonly arrow: string; readonly words: string } {
  if (difference > 0) return { arrow: '↑', words: 'up' }
  if (difference < 0) return { arrow: '↓', words: 'down' }
  return { arrow: '→', words: 'unchanged' }
}

/** Characters of a reason in a row. */
const reasonCharsMax = 160

/** Metrics of a protocol, and where they are from. */
interface MetricGroup {
  readonly name: string
  readonly source: Html
  readonly metrics: readonly WidgetMetric[]
  readonly withoutValue: NonNullable<ProtocolState['withoutValue']>
}

/** Metrics as rows with a small curve: where there are too many for a card each. */
function metricTable(groups: readonly MetricGroup[], nowMs: number): Html {
  return html`<table class="metrics" aria-labelledby="protocols">
<thead><tr><th scope="col">Metric</th><th scope="col">Value</th><th scope="col">1 h</th><th scope="col">24 h</th><th scope="col" class="mini">48 hours</th></tr></thead>
${groups.map(
  ({ name, source, metrics, withoutValue }) =>
    html`<tbody><tr><th scope="rowgroup" colspan="5"><b>${name}</b> <span class="quiet">${source}</span></th></tr>${metrics.map(
      metric => metricRow(metric, nowMs),
    )}${withoutValue.map(valuelessRow)}</tbody>`,
)}</table>`
}

/** The row of a collector that has given no value, with the beginning of why. */
function valuelessRow({ collector, reason }: MetricGroup['withoutValue'][number]): Html {
  return html`<tr><th scope="row">${collector}</th><td colspan="4" class="state old">no value yet: ${shortened(reason, reasonCharsMax)}</td></tr>
`
}

function metricRow(metric: WidgetMetric, nowMs: number): Html {
  const { id, label, value, unit, change1h, change24h, curve } = metric
  const exact = value === undefined ? nothing : html` title="${exactText(value)}"`
  return html`<tr><th scope="row"><a href="${historyPath(id)}">${label}</a>${remarks(metric, nowMs)}</th><td${exact}>${
    value === undefined ? 'no value yet' : numberText(value)
  }${unit === undefined ? nothing : html` <span class="unit">${unit}</span>`}</td><td>${changeText(change1h)}</td><td>${changeText(change24h)}</td><td class="mini">${miniCurve(curve)}</td></tr>
`
}

function remarks(metric: WidgetMetric, nowMs: number): Html {
  if (metric.isRemoved) return html` <span class="removed">removed</span>`
  if (metric.state === 'private') return html` <span class="quiet">private</span>`
  return isOld(metric, nowMs) ? html` <span class="as-of old">old</span>` : nothing
}

function changeText(difference: number | undefined): string {
  return difference === undefined ? '–' : signedText(difference)
}

/** The drawing is stretched, so only its proportions count; strokes keep their width. */
const heightUnits = 100
const paddingUnits = 8

interface SparklineProps {
  readonly label: string
  readonly unit: string | undefined
  /** Oldest first, one for each hour up to `lastHour`. */
  readonly values: readonly (number | null)[]
  readonly lastHour: Hour
  /** Parts of a unit of height that are drawn; more make a large drawing smoother. Default: 1. */
  readonly parts?: number
}

/** Height of a mini curve, which is drawn in few steps: a page has a hundred of them. */
const miniUnits = 18

/** The curve of the last hours with its lowest and highest value. A missing hour is a gap in the line. */
export function sparkline(props: SparklineProps): Html {
  const curve = curveOf(props.values)
  if (!curve) {
    return html`<figure class="curve"><p class="empty-curve">no value in the last ${props.values.length} hours yet</p></figure>`
  }
  return html`<figure class="curve">${drawing(props, curve)}
<figcaption>${rangeParts(curve).map(part => html`<span>${part}</span>`)}</figcaption></figure>`
}

/** The line of a curve alone, as decoration of a row that says the value. */
function miniCurve(values: readonly (number | null)[]): Html {
  const curve = curveOf(values)
  if (!curve) return nothing
  const runs = curve.runs.map(run => run.map(({ x, y }) => ({ x, y: Math.round(1 + (1 - y) * (miniUnits - 2)) })))
  return html`<svg aria-hidden="true" viewBox="0 0 ${Math.max(1, values.length - 1)} ${miniUnits}" preserveAspectRatio="none"><path d="${runs
    .map(run => (run.length === 1 ? dot(run[0] ?? { x: 0, y: 0 }) : pathText(run)))
    .join('')}"/></svg>`
}

function drawing({ label, unit, values, lastHour, parts = 1 }: SparklineProps, curve: Curve): Html {
  const width = Math.max(1, values.length - 1)
  const words = `Curve of ${label} over the last ${values.length} hours: ${curve.count} ${
    curve.count === 1 ? 'value' : 'values'
  }, ${rangeParts(curve).join(', ')}${unit === undefined ? '' : ` ${unit}`}`
  const runs = curve.runs.map(run => run.map(point => placed(point, parts)))
  const last = runs.at(-1)?.at(-1)
  return html`<svg role="img" aria-label="${words}" viewBox="0 0 ${width} ${heightUnits}" preserveAspectRatio="none">${midnights(
    values.length,
    lastHour,
  )}${runs.map(run => area(run))}${runs.map(run => line(run))}${
    last ? html`<path class="tip" d="${dot(last)}"/>` : nothing
  }</svg>`
}

function rangeParts({ low, high, count }: Curve): string[] {
  if (count === 1) return ['one value so far']
  return low === high ? [`steady at ${numberText(low)}`] : [`low ${numberText(low)}`, `high ${numberText(high)}`]
}

function midnights(count: number, lastHour: Hour): Html {
  const indexes = Array.from({ length: count }, (_, index) => index)
  const nights = indexes.filter(index => new Date(hourAfter(lastHour, index - count + 1)).getUTCHours() === 0)
  return html`<path class="midnight" d="${nights.map(index => `M${index} 0v${heightUnits}`).join('')}"/>`
}

/** A point in units of the drawing, `y` from the top. */
interface PlacedPoint {
  readonly x: number
  readonly y: number
}

function placed({ x, y }: CurvePoint, parts: number): PlacedPoint {
  const fromTop = paddingUnits + (1 - y) * (heightUnits - 2 * paddingUnits)
  return { x, y: Math.round(fromTop * parts) / parts }
}

function area(run: readonly PlacedPoint[]): Html {
  const last = run.at(-1)
  if (!last || run.length === 1) return nothing
  return html`<path class="water" d="${pathText(run)}V${heightUnits}H${run[0]?.x}z"/>`
}

function line(run: readonly PlacedPoint[]): Html {
  const [first] = run
  if (!first) return nothing
  if (run.length === 1) return html`<path class="line alone" d="${dot(first)}"/>`
  return html`<path class="line" d="${pathText(run)}"/>`
}

/** A line of no length with round ends is drawn as a dot, and stays round where a stretched circle would not. */
function dot({ x, y }: PlacedPoint): string {
  return `M${x} ${y}h0.001`
}

/** Steps are relative and level stretches one step: a page has many curves. */
function pathText(run: readonly PlacedPoint[]): string {
  const [first] = run
  if (!first) return ''
  const steps: string[] = []
  let drawnPoint = first
  let previousPoint = first
  for (const point of run.slice(1)) {
    if (point.y !== previousPoint.y) {
      if (previousPoint.x > drawnPoint.x) steps.push(`h${previousPoint.x - drawnPoint.x}`)
      steps.push(`l${point.x - previousPoint.x} ${Number((point.y - previousPoint.y).toFixed(3))}`)
      drawnPoint = point
    }
    previousPoint = point
  }
  if (previousPoint.x > drawnPoint.x) steps.push(`h${previousPoint.x - drawnPoint.x}`)
  return `M${first.x} ${first.y}${steps.join('').replaceAll(' -', '-')}`
}

/** A value's position in the curve: `x` its index in hours from the left, `y` from 0 (lowest) to 1 (highest). */
interface CurvePoint {
  readonly x: number
  readonly y: number
}

/** A curve as runs of hours without a hole; a run of one is a point. */
export interface Curve {
  readonly runs: readonly (readonly CurvePoint[])[]
  /** Lowest value. */
  readonly low: number
  /** Highest value. */
  readonly high: number
  /** Number of values. */
  readonly count: number
}

/** @returns `undefined` when there is no value */
export function curveOf(values: readonly (number | null)[]): Curve | undefined {
  const numbers = values.filter(value => value !== null)
  if (numbers.length === 0) return undefined
  const low = numbers.reduce((a, b) => Math.min(a, b))
  const high = numbers.reduce((a, b) => Math.max(a, b))
  const runs: CurvePoint[][] = []
  values.forEach((value, x) => {
    if (value === null) return
    const point = { x, y: heightOf(value, low, high) }
    const isContinued = x > 0 && values[x - 1] !== null
    const run = isContinued ? runs.at(-1) : undefined
    if (run) run.push(point)
    else runs.push([point])
  })
  return { runs, low, high, count: numbers.length }
}

/**
 * Relative height of a value. If the span is not finite, values are halved before they are subtracted; always halving
 * would lose the smallest numbers. A flat curve is in the middle.
 */
function heightOf(value: number, low: number, high: number): number {
  if (low === high) return 0.5
  const span = high - low
  return Number.isFinite(span) ? (value - low) / span : (value / 2 - low / 2) / (high / 2 - low / 2)
}

/** Path of the page with a metric's history. */
export function historyPath(id: MetricId): string {
  return `/history/${encodeURIComponent(id)}`
}
