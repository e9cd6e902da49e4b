import type { FaultRecord } from '../../model/fault.ts'
import { type Hour, hourAfter, hoursFrom } from '../../model/hour.ts'
import { hourMs } from '../../model/limits.ts'
import { shortened } from '../../model/text.ts'
import type { CellState, HourStretch, ProtocolState, Snapshot, WeekGrid, WeekRow } from '../snapshot.ts'
import { clockText, dayText, Html, hoursText, html, nothing, ownId } from './html.ts'
import { barByShape } from './style.ts'

/** Height of an hour in the strip, in units. */
const cellUnits = 10

/** Troubles shown at once, and in all; further ones are counted. */
const troublesShown = 12
const troublesMax = 24

/** Characters of the titles, and of the words for a screen reader: of the page, and of a row. */
const titleCharsMax = 18_000
const spokenCharsMax = 10_000
const rowCharsMax = 3_000

/**
 * The last seven days of each collector, with what went wrong below.
 *
 * @param folds the collectors by protocol, if they are too many to be read at once
 */
export function hours(week: WeekGrid, folds: readonly Fold[] = []): Html {
  return html`<section aria-labelledby="hours"><h2 id="hours">Hours</h2>${
    week.rows.length === 0
      ? html`<p class="empty">No hour is expected yet: each collector gets a row here, with the hours of the last seven days.</p>`
      : html`${firstHourNote(week)}${folds.length > 0 ? folded(week, folds) : table(week, week.rows)}${twoLinesNote()}${legend()}${troubles(troublesOf(week))}`
  }</section>`
}

function firstHourNote({ rows }: WeekGrid): Html {
  const isUntouched = rows.every(({ runs }) => runs.every(({ state }) => state === 'due' || state === 'unexpected'))
  if (!isUntouched) return nothing
  return html`<p class="empty">No hour is collected yet. The first one follows within moments of the start, then one a few
seconds after each full hour.</p>`
}

/**
 * A line for each protocol; those with a trouble are open. Their id is another, so that the script opens one whose trouble
 * begins while a person looks.
 */
function folded(week: WeekGrid, folds: readonly Fold[]): Html {
  return html`<div class="folds-axis">${axis(week)}</div>${folds.map(fold => {
    const { protocolId, rows, collectors, troubledCount } = fold
    const restCount = collectors - rows.length
    return html`<details class="fold" id="${troubledCount > 0 ? 'troubled' : 'calm'}-${protocolId}"${troubledCount > 0 ? Html.trusted(' open') : nothing}><summary><b>${protocolId}</b> <span class="quiet">${counted(collectors, 'collector')}</span>${
      troubledCount > 0
        ? html` <span class="in-trouble">${troubledCount} with a trouble</span>`
        : html` <span class="quiet">· no trouble in these days</span>`
    }</summary>${rows.length > 0 ? table(week, rows, protocolId) : nothing}${
      restCount > 0 && rows.length > 0 ? html`<p class="quiet note">and ${restCount} more</p>` : nothing
    }</details>`
  })}`
}

function twoLinesNote(): Html {
  return html`<p class="two-lines quiet">Each collector has two lines: three and a half days, and below them the three and a half up to now.</p>`
}

/**
 * The roles repeat what the elements say, because the rows are laid out as grids.
 *
 * @param protocolId the protocol of all rows; its axis is drawn once above the tables of all protocols
 */
function table(week: WeekGrid, rows: readonly WeekRow[], protocolId?: string): Html {
  const shareOf = (chars: number) => Math.min(rowCharsMax, Math.floor(chars / week.rows.length))
  return html`<table class="hours" role="table" aria-label="State of each hour of the last seven days for each collector${protocolId === undefined ? '' : ` of ${protocolId}`}">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col"><span class="unseen">Collector</span></th><th role="columnheader" scope="col"><span class="unseen">${rangeText(week)} UTC</span>${protocolId === undefined ? axis(week) : nothing}</th></tr></thead>
<tbody role="rowgroup">${rows.map(
    row =>
      html`<tr role="row"><th role="rowheader" scope="row">${collectorName(row, protocolId === undefined)}</th><td role="cell"><span class="unseen">${rowText(row, shareOf(spokenCharsMax))}</span>${strip(week, row, shareOf(titleCharsMax))}</td></tr>
`,
  )}</tbody>
</table>`
}

/** A collector's own id, with its protocol next to it where that is not above. */
function collectorName({ collector, protocolId, isRemoved }: WeekRow, isAlone: boolean): Html {
  const removed = isRemoved ? html` <span class="removed">no longer configured</span>` : nothing
  return html`<span class="own-id">${ownId(collector, protocolId)}</span>${isAlone ? html` <span class="of">${protocolId}</span>` : nothing}${removed}`
}

function troubles(troubleList: readonly HourTrouble[]): Html {
  if (troubleList.length === 0) return nothing
  const laterTroubles = troubleList.slice(troublesShown, troublesMax)
  const restCount = troubleList.length - troublesMax
  return html`<h3 class="minor">What went wrong</h3><ul class="troubles">${troubleList.slice(0, troublesShown).map(trouble)}</ul>${
    laterTroubles.length === 0
      ? nothing
      : html`<details id="more-troubles"><summary>${laterTroubles.length} more</summary><ul class="troubles">${laterTroubles.map(trouble)}${
          restCount > 0 ? html`<li class="quiet">and ${restCount} more</li>` : nothing
        }</ul></details>`
  }`
}

function trouble({ collector, shape, count, first, last, message, facts, fix }: HourTrouble): Html {
  const details = Object.entries(facts).map(([name, value]) => `${name} ${value}`)
  return html`<li>${shapeIcon(shape)}<div>
<p><b>${collector}</b> <span class="quiet">${shape === 'failing' ? 'due' : shape} · ${counted(count, 'hour')}, ${hoursText(first, last)}</span></p>
${message === undefined ? nothing : html`<p>${message}${details.length > 0 ? html` <span class="quiet">(${details.join(', ')})</span>` : nothing}</p>`}
${fix === undefined ? nothing : html`<p class="fix">${fix}</p>`}</div></li>`
}

/** Hours of a half of a strip: the halves are next to each other, and on a phone below each other. */
const halfHours = 84

/** Characters of a reason in a title. */
const reasonCharsMax = 160

/** Markup of a title, in characters. */
const titleChars = 50

/** Hours at least of a day's part that has a label. */
const labelledHoursMin = 12

/** A stretch, or the part of it in one half, with its place in that half. */
interface Placed {
  readonly halfIndex: number
  readonly x: number
  readonly hours: number
  readonly shape: CellShape
  readonly stretch: HourStretch
}

/**
 * A row of hours as two drawings. A stretch of equal hours is one line, as thick as its shape says (`barsStyle`), with a
 * title that says what it is and why.
 *
 * @param charsMax characters of titles, those of the newest troubles first: a page has a size
 */
function strip({ from }: Pick<WeekGrid, 'from'>, { runs }: Pick<WeekRow, 'runs'>, charsMax: number): Html {
  const stretches = runs.flatMap(stretch => partsOf(stretch, (stretch.from - from) / hourMs))
  const titles = titlesOf(stretches, charsMax)
  return html`<div class="strip" aria-hidden="true">${[0, 1].map(halfIndex =>
    drawing(
      halfIndex,
      stretches.filter(part => part.halfIndex === halfIndex),
      titles,
    ),
  )}</div>`
}

function titlesOf(spans: readonly Placed[], charsMax: number): ReadonlyMap<Placed, string> {
  const byNeed = [
    ...spans.filter(({ shape }) => isTrouble(shape)).toReversed(),
    ...spans.filter(({ shape }) => !isTrouble(shape)).toReversed(),
  ]
  const titles = new Map<Placed, string>()
  let charsLeft = charsMax
  for (const part of byNeed) {
    const text = stretchText(part.stretch)
    charsLeft -= text.length + titleChars
    if (charsLeft < 0) break
    titles.set(part, text)
  }
  return titles
}

function drawing(halfIndex: number, parts: readonly Placed[], titles: ReadonlyMap<Placed, string>): Html {
  const byKind = Map.groupBy(
    parts.filter(part => !titles.has(part)),
    ({ shape }) => shape,
  )
  return html`<svg viewBox="0 0 ${halfHours} ${cellUnits}" preserveAspectRatio="none">${[...byKind].map(
    ([shape, own]) => html`<path class="${shape}" d="${lineText(shape, own)}"/>`,
  )}${parts
    .filter(part => titles.has(part))
    .map(
      part =>
        html`<path class="${part.shape}" d="${lineText(part.shape, [part])}"><title>${titles.get(part)}</title></path>`,
    )}<use href="#nights-${halfIndex}"/></svg>`
}

/** Path data of stretches of one shape: steps are relative, since there may be many. */
function lineText(shape: CellShape, parts: readonly Placed[]): string {
  const { top, height } = barByShape[shape]
  let end = 0
  const steps = parts.map(({ x, hours }, place) => {
    const move = place === 0 ? `M${x} ${top + height / 2}` : `m${x - end} 0`
    end = x + hours
    return `${move}h${hours}`
  })
  return steps.join('')
}

function partsOf(stretch: HourStretch, offset: number): Placed[] {
  const shape = shapeOf(stretch)
  return [0, 1].flatMap(halfIndex => {
    const first = Math.max(offset, halfIndex * halfHours)
    const hours = Math.min(offset + stretch.hours, (halfIndex + 1) * halfHours) - first
    return hours > 0 ? [{ halfIndex, x: first - halfIndex * halfHours, hours, shape, stretch }] : []
  })
}

/** Whether a person may want to know why. */
function isTrouble(shape: CellShape): boolean {
  return shape === 'failing' || shape === 'dead' || shape === 'held' || shape === 'gap'
}

/** A stretch in words: which hours, what they are, and why. */
function stretchText(stretch: HourStretch): string {
  const last = hourAfter(stretch.from, stretch.hours - 1)
  const attempts = (stretch.attempts ?? 0) > 1 ? `, ${stretch.attempts} attempts` : ''
  const reason = stretch.fault?.message ?? stretch.reason
  const why = reason === undefined ? '' : `: ${shortened(reason, reasonCharsMax)}`
  return `${hoursText(stretch.from, last)}, ${counted(stretch.hours, 'hour')} ${meaningByShape[shapeOf(stretch)]}${attempts}${why}`
}

/**
 * A row in words: how many hours are in which state, and the reasons of the newest troubles.
 *
 * @param charsMax characters of the reasons
 */
function rowText({ runs }: Pick<WeekRow, 'runs'>, charsMax: number): string {
  const hoursByShape = new Map<CellShape, number>()
  for (const stretch of runs)
    hoursByShape.set(shapeOf(stretch), (hoursByShape.get(shapeOf(stretch)) ?? 0) + stretch.hours)
  const counts = [...hoursByShape].map(([shape, hours]) => `${counted(hours, 'hour')} ${meaningByShape[shape]}`)
  const troubles = runs.filter(stretch => isTrouble(shapeOf(stretch))).toReversed()
  const spoken: string[] = []
  let charsLeft = charsMax
  for (const text of troubles.map(stretchText)) {
    charsLeft -= text.length
    if (charsLeft < 0) break
    spoken.push(text)
  }
  const rest = troubles.length - spoken.length
  return [counts.join(', '), ...spoken, ...(rest > 0 ? [`and ${rest} more`] : [])].join('. ')
}

/** The days above the strips. */
function axis({ from }: Pick<WeekGrid, 'from'>): Html {
  return html`<div class="strip axis" aria-hidden="true">${[0, 1].map(halfIndex => axisOfHalf(halfIndex, hourAfter(from, halfIndex * halfHours)))}</div>`
}

/** Days and their labels; its path of midnights is drawn over each strip, too. */
function axisOfHalf(halfIndex: number, from: Hour): Html {
  const nights = hoursFrom(from, hourAfter(from, halfHours - 1)).flatMap((hour, x) =>
    new Date(hour).getUTCHours() === 0 && x > 0 ? [x] : [],
  )
  const labels = [0, ...nights].map((x, place) => {
    const isShort = (nights[place] ?? halfHours) - x < labelledHoursMin
    // On one line a day that the halves share has its label at its midnight, on two lines where it has room.
    const isShared = halfIndex === 0 ? x > 0 && isShort : x === 0 && new Date(from).getUTCHours() !== 0
    if (isShort && !(halfIndex === 0 && isShared)) return nothing
    const look = isShared ? html` class="${halfIndex === 0 ? 'on-one-line' : 'on-two-lines'}"` : nothing
    return html`<text${look} x="${percent(x)}" y="11">${dayText(hourAfter(from, x))}</text>`
  })
  const lines = nights.map(x => html`<line x1="${percent(x)}" x2="${percent(x)}" y1="14" y2="20"/>`)
  const path = html`<defs><path id="nights-${halfIndex}" class="night" d="${nights.map(x => `M${x} 0v${cellUnits}`).join('')}"/></defs>`
  return html`<svg>${path}${lines}${labels}</svg>`
}

function percent(x: number): string {
  return `${Number(((100 * x) / halfHours).toFixed(2))}%`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** The range of the week, for the head of the column. */
function rangeText({ from, to }: Pick<WeekGrid, 'from' | 'to'>): string {
  return `Hours from ${dayText(from)}, ${clockText(from)} to ${dayText(to)}, ${clockText(to)}`
}

/** Hours of one collector that failed in the same way. */
interface HourTrouble {
  readonly collector: string
  readonly shape: CellShape
  /** Number of hours. */
  readonly count: number
  /** First hour of the stretch. */
  readonly first: Hour
  /** Last hour of the stretch, included. */
  readonly last: Hour
  /** Why, as a sentence; absent while unknown. */
  readonly message?: string
  readonly facts: FaultRecord['facts']
  /** Remedy; absent without one. */
  readonly fix?: string
}

/** Commands for metrics that wait for a person. */
const fixes: Partial<Readonly<Record<CellShape, string>>> = {
  dead: 'tidegauge dead ls lists them; dead retry sends them again, dead drop gives them up',
  held: 'tidegauge held ls lists them; held show says what to do',
}

/** The troubles in the grid, those with the newest hour first. */
export function troublesOf({ rows }: Pick<WeekGrid, 'rows'>): HourTrouble[] {
  const byKind = new Map<string, HourTrouble>()
  for (const { collector, runs, isRemoved } of rows) {
    for (const stretch of runs) {
      const shape = shapeOf(stretch)
      if (!isTrouble(shape)) continue
      const message = stretch.fault?.message ?? stretch.reason
      // The fault of a collector that was removed needs no remedy; its metrics may still wait for a person.
      const fix = (isRemoved ? undefined : stretch.fault?.fix) ?? fixes[shape]
      const kind = JSON.stringify([collector, shape, stretch.fault?.code, message])
      const previousTrouble = byKind.get(kind)
      byKind.set(kind, {
        collector,
        shape,
        count: (previousTrouble?.count ?? 0) + stretch.hours,
        first: previousTrouble?.first ?? stretch.from,
        last: hourAfter(stretch.from, stretch.hours - 1),
        facts: stretch.fault?.facts ?? {},
        ...(message === undefined ? {} : { message }),
        ...(fix === undefined ? {} : { fix }),
      })
    }
  }
  return [...byKind.values()].sort((a, b) => b.last - a.last)
}

/** Shape of an hour: a due hour that has failed looks different from one that just waits. */
export type CellShape = CellState | 'failing'

/** Meaning of each shape, in the order of the legend. */
const meaningByShape: Readonly<Record<CellShape, string>> = {
  delivered: 'delivered',
  collected: 'collected, on its way',
  due: 'due',
  failing: 'due, failed so far',
  held: 'held until something is changed',
  dead: 'refused, kept with the reason',
  gap: 'gap, can no longer be read',
  unexpected: 'not expected',
}

const shapes = Object.keys(meaningByShape) as CellShape[]

function shapeOf({ state, fault }: Pick<HourStretch, 'state' | 'fault'>): CellShape {
  return state === 'due' && fault ? 'failing' : state
}

/** Definitions of the shapes, once in the page; `shapeIcon` refers to them. */
export function shapeDefinitions(): Html {
  return html`<svg class="definitions" width="0" height="0" aria-hidden="true">${shapes.map(
    shape =>
      html`<symbol id="look-${shape}" viewBox="0 0 10 10"><rect fill="currentColor" x="2" width="6" y="${barByShape[shape].top}" height="${barByShape[shape].height}"/></symbol>`,
  )}</svg>`
}

/** One shape in its colour, as decoration next to a text that says the same. */
export function shapeIcon(shape: CellShape): Html {
  return html`<svg class="shape ${shape}" aria-hidden="true"><use href="#look-${shape}"/></svg>`
}

function legend(): Html {
  return html`<ul class="legend">${shapes.map(shape => html`<li>${shapeIcon(shape)} ${meaningByShape[shape]}</li>`)}</ul>`
}

/** Collectors, and protocols, shown on the page, because a browser loads it often. Others are counted. */
const shownMax = 100

/** Runs of hours shown on the page; only where almost every hour differs from the one before are there more. */
const runsMax = 2_000

/** Collectors of a page above which those of a protocol lie under one line, if a protocol has as many on average. */
const unfoldedMax = 50
const foldedMin = 4

/** The collectors of a protocol, where they lie under one line. */
interface Fold {
  readonly protocolId: string
  /** The rows that are shown. */
  readonly rows: readonly WeekRow[]
  /** Number of its collectors, and of those in trouble, shown or not. */
  readonly collectors: number
  readonly troubledCount: number
}

/** The part of a snapshot that the page shows, and how much more there is. */
interface Bounded {
  readonly week: WeekGrid
  /** Number of collectors left out. */
  readonly moreCollectors: number
  /** The collectors by protocol, troubled protocols first; empty where they are few enough to be read at once. */
  readonly folds: readonly Fold[]
  readonly protocols: Snapshot['protocols']
  /** Number of protocols left out. */
  readonly moreProtocols: number
}

/** The first collectors and protocols of a snapshot; if there are too many, those that need a person come first. */
export function bounded({ week, protocols }: Pick<Snapshot, 'week' | 'protocols'>): Bounded {
  const rows = withinRuns(week.rows.length > shownMax ? firstOf(inTurn(week.rows), hasTrouble) : week.rows)
  const troubled = new Set(rows.map(({ protocolId }) => protocolId))
  const ordered = byTrouble(protocols, week.rows)
  const shownProtocols = ordered.length > shownMax ? firstOf(ordered, ({ id }) => troubled.has(id)) : ordered
  return {
    week: { ...week, rows },
    moreCollectors: week.rows.length - rows.length,
    folds: foldsOf(week.rows, rows),
    protocols: shownProtocols,
    moreProtocols: protocols.length - shownProtocols.length,
  }
}

/** Protocols that have a trouble first, else in the order of the configuration. */
function byTrouble(protocols: readonly ProtocolState[], rows: readonly WeekRow[]): readonly ProtocolState[] {
  const troubled = new Set(rows.filter(hasTrouble).map(({ protocolId }) => protocolId))
  return protocols.toSorted((a, b) => Number(troubled.has(b.id)) - Number(troubled.has(a.id)))
}

function foldsOf(all: readonly WeekRow[], shownRows: readonly WeekRow[]): readonly Fold[] {
  const byProtocol = Map.groupBy(all, ({ protocolId }) => protocolId)
  if (all.length <= unfoldedMax || all.length < foldedMin * byProtocol.size) return []
  const shownBy = Map.groupBy(shownRows, ({ protocolId }) => protocolId)
  return [...byProtocol]
    .map(([protocolId, members]) => ({
      protocolId,
      rows: shownBy.get(protocolId) ?? [],
      collectors: members.length,
      troubledCount: members.filter(hasTrouble).length,
    }))
    .sort((a, b) => Number(b.troubledCount > 0) - Number(a.troubledCount > 0))
}

/** The rows of all protocols in turn, so that none takes the room of the others. */
function inTurn(rows: readonly WeekRow[]): readonly WeekRow[] {
  const turns = new Map<string, number>()
  const rowsWithTurn = rows.map(row => {
    const turn = turns.get(row.protocolId) ?? 0
    turns.set(row.protocolId, turn + 1)
    return { row, turn }
  })
  return rowsWithTurn.sort((a, b) => a.turn - b.turn).map(({ row }) => row)
}

/** The first rows, up to a number of stretches. */
function withinRuns(rows: readonly WeekRow[]): readonly WeekRow[] {
  let runsLeft = runsMax
  const end = rows.findIndex(({ runs }) => {
    runsLeft -= runs.length
    return runsLeft < 0
  })
  return end < 0 ? rows : rows.slice(0, end)
}

function firstOf<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly T[] {
  return [...all.filter(isFirst), ...all.filter(one => !isFirst(one))].slice(0, shownMax)
}

function hasTrouble({ runs }: WeekRow): boolean {
  return runs.some(stretch => isTrouble(shapeOf(stretch)))
}
