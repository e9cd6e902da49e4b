import { numberText, signedText } from '../../model/number-text.ts'
import type { WidgetMetric } from '../snapshot.ts'
import { historyPath } from './history-path.ts'
import { type Html, html, nothing } from './html.ts'
import { miniCurve } from './sparkline.ts'
import { isOld } from './widget.ts'

/** Metrics of a protocol, and where they are from. */
interface MetricGroup {
  readonly name: string
  readonly source: Html
  readonly metrics: readonly WidgetMetric[]
}

/** Metrics as rows with a small curve: where there are too many for a card each. */
export function metricTable(groups: readonly MetricGroup[], nowMs: number): Html {
  return html`<table class="metrics" aria-labelledby="protocols">
<thead><tr><th scope="col">Metric</th><th scope="col">Value</th><th scope="col">1 h</th><th scope="col">24 h</th><th scope="col" class="mini">48 hours</th></tr></thead>
${groups.map(
  ({ name, source, metrics }) =>
    html`<tbody><tr><th scope="rowgroup" colspan="5"><b>${name}</b> <span class="quiet">${source}</span></th></tr>${metrics.map(
      metric => metricRow(metric, nowMs),
    )}</tbody>`,
)}</table>`
}

function metricRow(metric: WidgetMetric, nowMs: number): Html {
  const { id, label, value, unit, change1h, change24h, curve } = metric
  const exact = value === undefined ? nothing : html` title="${value}"`
  return html`<tr><th scope="row"><a href="${historyPath(id)}">${label}</a>${remarks(metric, nowMs)}</th><td${exact}>${
    value === undefined ? 'no value yet' : numberText(value)
  }${unit === undefined ? nothing : html` <span class="unit">${unit}</span>`}</td><td>${change(change1h)}</td><td>${change(change24h)}</td><td class="mini">${miniCurve(curve)}</td></tr>
`
}

function remarks(metric: WidgetMetric, nowMs: number): Html {
  if (metric.isRemoved) return html` <span class="removed">removed</span>`
  return isOld(metric, nowMs) ? html` <span class="as-of old">old</span>` : nothing
}

function change(difference: number | undefined): string {
  return difference === undefined ? '–' : signedText(difference)
}
