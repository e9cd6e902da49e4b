import { type Hour, hourAfter, hoursFrom } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import { firstChars } from '../../model/text.ts'
import type { HourRun, WeekGrid, WeekRow } from '../snapshot.ts'
import { type CellLook, lookOf, meaningByLook } from './cell.ts'
import { type Html, html, nothing } from './html.ts'
import { barByLook, cellUnits } from './style/bars.ts'
import { clockText, dayText, hoursText } from './when.ts'

/** Hours of a half of a strip: the halves are next to each other, and on a phone below each other. */
export const halfHours = 84

/** Characters of a reason in a title. */
const reasonCharsMax = 160

/** Markup of a title, in characters. */
const titleChars = 50

/** Hours at least of a day's part that has a label. */
const labelledHoursMin = 12

/** A run, or the part of it in one half, with its place in that half. */
interface Placed {
  readonly half: number
  readonly x: number
  readonly hours: number
  readonly look: CellLook
  readonly run: HourRun
}

/**
 * A row of hours as two drawings. A run of equal hours is one line, as thick as its look says (`barsStyle`), with a
 * title that says what it is and why.
 *
 * @param charsMax characters of titles, those of the newest troubles first: a page has a size
 */
export function strip({ from }: Pick<WeekGrid, 'from'>, { runs }: Pick<WeekRow, 'runs'>, charsMax: number): Html {
  const placed = runs.flatMap(run => partsOf(run, (run.from - from) / hourMs))
  const titles = titlesOf(placed, charsMax)
  return html`<div class="strip" aria-hidden="true">${[0, 1].map(half =>
    drawing(
      half,
      placed.filter(part => part.half === half),
      titles,
    ),
  )}</div>`
}

function titlesOf(placed: readonly Placed[], charsMax: number): ReadonlyMap<Placed, string> {
  const byNeed = [
    ...placed.filter(({ look }) => isTrouble(look)).toReversed(),
    ...placed.filter(({ look }) => !isTrouble(look)).toReversed(),
  ]
  const titles = new Map<Placed, string>()
  let left = charsMax
  for (const part of byNeed) {
    const text = runText(part.run)
    left -= text.length + titleChars
    if (left < 0) break
    titles.set(part, text)
  }
  return titles
}

function drawing(half: number, parts: readonly Placed[], titles: ReadonlyMap<Placed, string>): Html {
  const others = Map.groupBy(
    parts.filter(part => !titles.has(part)),
    ({ look }) => look,
  )
  return html`<svg viewBox="0 0 ${halfHours} ${cellUnits}" preserveAspectRatio="none">${[...others].map(
    ([look, own]) => html`<path class="${look}" d="${lineText(look, own)}"/>`,
  )}${parts
    .filter(part => titles.has(part))
    .map(
      part =>
        html`<path class="${part.look}" d="${lineText(part.look, [part])}"><title>${titles.get(part)}</title></path>`,
    )}<use href="#nights-${half}"/></svg>`
}

/** Path data of runs of one look: steps are relative, since there may be many. */
function lineText(look: CellLook, parts: readonly Placed[]): string {
  const { top, height } = barByLook[look]
  let end = 0
  const steps = parts.map(({ x, hours }, place) => {
    const move = place === 0 ? `M${x} ${top + height / 2}` : `m${x - end} 0`
    end = x + hours
    return `${move}h${hours}`
  })
  return steps.join('')
}

function partsOf(run: HourRun, at: number): Placed[] {
  const look = lookOf(run)
  return [0, 1].flatMap(half => {
    const first = Math.max(at, half * halfHours)
    const hours = Math.min(at + run.hours, (half + 1) * halfHours) - first
    return hours > 0 ? [{ half, x: first - half * halfHours, hours, look, run }] : []
  })
}

/** Whether a person may want to know why. */
export function isTrouble(look: CellLook): boolean {
  return look === 'failing' || look === 'dead' || look === 'held' || look === 'gap'
}

/** A run in words: which hours, what they are, and why. */
function runText(run: HourRun): string {
  const last = hourAfter(run.from, run.hours - 1)
  const attempts = (run.attempts ?? 0) > 1 ? `, ${run.attempts} attempts` : ''
  const reason = run.fault?.message ?? run.reason
  const why = reason === undefined ? '' : `: ${cut(reason)}`
  return `${hoursText(run.from, last)}, ${countText(run.hours)} ${meaningByLook[lookOf(run)]}${attempts}${why}`
}

/**
 * A row in words: how many hours are in which state, and the reasons of the newest troubles.
 *
 * @param charsMax characters of the reasons
 */
export function rowText({ runs }: Pick<WeekRow, 'runs'>, charsMax: number): string {
  const hoursByLook = new Map<CellLook, number>()
  for (const run of runs) hoursByLook.set(lookOf(run), (hoursByLook.get(lookOf(run)) ?? 0) + run.hours)
  const counts = [...hoursByLook].map(([look, hours]) => `${countText(hours)} ${meaningByLook[look]}`)
  const troubles = runs.filter(run => isTrouble(lookOf(run))).toReversed()
  const spoken: string[] = []
  let left = charsMax
  for (const text of troubles.map(runText)) {
    left -= text.length
    if (left < 0) break
    spoken.push(text)
  }
  const rest = troubles.length - spoken.length
  return [counts.join(', '), ...spoken, ...(rest > 0 ? [`and ${rest} more`] : [])].join('. ')
}

/** The days above the strips. */
export function axis({ from }: Pick<WeekGrid, 'from'>): Html {
  return html`<div class="strip axis" aria-hidden="true">${[0, 1].map(half => axisOfHalf(half, hourAfter(from, half * halfHours)))}</div>`
}

/** Days and their labels; its path of midnights is drawn over each strip, too. */
function axisOfHalf(half: number, from: Hour): Html {
  const nights = hoursFrom(from, hourAfter(from, halfHours - 1)).flatMap((hour, x) =>
    new Date(hour).getUTCHours() === 0 && x > 0 ? [x] : [],
  )
  const labels = [0, ...nights].map((x, place) => {
    const isShort = (nights[place] ?? halfHours) - x < labelledHoursMin
    // On one line a day that the halves share has its label at its midnight, on two lines where it has room.
    const isShared = half === 0 ? x > 0 && isShort : x === 0 && new Date(from).getUTCHours() !== 0
    if (isShort && !(half === 0 && isShared)) return nothing
    const look = isShared ? html` class="${half === 0 ? 'on-one-line' : 'on-two-lines'}"` : nothing
    return html`<text${look} x="${percent(x)}" y="11">${dayText(hourAfter(from, x))}</text>`
  })
  const lines = nights.map(x => html`<line x1="${percent(x)}" x2="${percent(x)}" y1="14" y2="20"/>`)
  const path = html`<defs><path id="nights-${half}" class="night" d="${nights.map(x => `M${x} 0v${cellUnits}`).join('')}"/></defs>`
  return html`<svg>${path}${lines}${labels}</svg>`
}

function percent(x: number): string {
  return `${Number(((100 * x) / halfHours).toFixed(2))}%`
}

function countText(hours: number): string {
  return hours === 1 ? '1 hour' : `${hours} hours`
}

function cut(text: string): string {
  return text.length <= reasonCharsMax ? text : `${firstChars(text, reasonCharsMax - 1)}…`
}

/** The range of the week, for the head of the column. */
export function rangeText({ from, to }: Pick<WeekGrid, 'from' | 'to'>): string {
  return `Hours from ${dayText(from)}, ${clockText(from)} to ${dayText(to)}, ${clockText(to)}`
}
