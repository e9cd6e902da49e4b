import { type Hour, hourAfter } from '../../model/hour.ts'
import { numberText } from '../../model/number-text.ts'
import { type Curve, type CurvePoint, curveOf } from './curve.ts'
import { type Html, html, nothing } from './html.ts'

/** The drawing is stretched, so only its proportions count; strokes keep their width. */
const heightUnits = 100
const paddingUnits = 8

/** Input of a sparkline. */
export interface SparklineProps {
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
export function miniCurve(values: readonly (number | null)[]): Html {
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
  let at = first
  let before = first
  for (const point of run.slice(1)) {
    if (point.y !== before.y) {
      if (before.x > at.x) steps.push(`h${before.x - at.x}`)
      steps.push(`l${point.x - before.x} ${Number((point.y - before.y).toFixed(3))}`)
      at = point
    }
    before = point
  }
  if (before.x > at.x) steps.push(`h${before.x - at.x}`)
  return `M${first.x} ${first.y}${steps.join('').replaceAll(' -', '-')}`
}
