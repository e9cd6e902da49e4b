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
}

/** The curve of the last hours with its lowest and highest value. A missing hour is a gap in the line. */
export function sparkline(parts: SparklineProps): Html {
  const curve = curveOf(parts.values)
  if (!curve) {
    return html`<figure class="curve"><p class="empty-curve">no value in the last ${parts.values.length} hours yet</p></figure>`
  }
  return html`<figure class="curve">${drawing(parts, curve)}
<figcaption>${rangeParts(curve).map(part => html`<span>${part}</span>`)}</figcaption></figure>`
}

function drawing({ label, unit, values, lastHour }: SparklineProps, curve: Curve): Html {
  const width = Math.max(1, values.length - 1)
  const words = `Curve of ${label} over the last ${values.length} hours: ${curve.count} ${
    curve.count === 1 ? 'value' : 'values'
  }, ${rangeParts(curve).join(', ')}${unit === undefined ? '' : ` ${unit}`}`
  const last = curve.runs.at(-1)?.at(-1)
  return html`<svg role="img" aria-label="${words}" viewBox="0 0 ${width} ${heightUnits}" preserveAspectRatio="none">
${midnights(values.length, lastHour)}${curve.runs.map(run => area(run))}${curve.runs.map(run => line(run))}${
  last ? html`<path class="tip" d="${dot(last)}"/>` : nothing
}</svg>`
}

function rangeParts({ low, high, count }: Curve): string[] {
  if (count === 1) return ['one value so far']
  return low === high ? [`steady at ${numberText(low)}`] : [`low ${numberText(low)}`, `high ${numberText(high)}`]
}

function midnights(count: number, lastHour: Hour): Html[] {
  const indexes = Array.from({ length: count }, (_, index) => index)
  return indexes
    .filter(index => new Date(hourAfter(lastHour, index - count + 1)).getUTCHours() === 0)
    .map(index => html`<path class="midnight" d="M${index} 0V${heightUnits}"/>`)
}

function area(run: readonly CurvePoint[]): Html {
  const [first, last] = [run[0], run.at(-1)]
  if (!first || !last || first === last) return nothing
  return html`<path class="water" d="M${first.x} ${heightUnits}L${run.map(placeText).join('L')}L${last.x} ${heightUnits}Z"/>`
}

function line(run: readonly CurvePoint[]): Html {
  const [first] = run
  if (!first) return nothing
  if (run.length === 1) return html`<path class="line alone" d="${dot(first)}"/>`
  return html`<path class="line" d="M${run.map(placeText).join('L')}"/>`
}

/** A line of no length with round ends is drawn as a dot, and stays round where a stretched circle would not. */
function dot(point: CurvePoint): string {
  return `M${placeText(point)}h0.001`
}

function placeText({ x, y }: CurvePoint): string {
  const fromTop = paddingUnits + (1 - y) * (heightUnits - 2 * paddingUnits)
  return `${x} ${Number(fromTop.toFixed(2))}`
}
