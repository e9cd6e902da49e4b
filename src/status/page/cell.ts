import { type Hour, hourText } from '../../model/hour.ts'
import type { CellState, HourCell } from '../snapshot.ts'
import { type Html, html } from './html.ts'
import { dayClockText } from './when.ts'

/** Look of a cell: a due hour that has failed looks different from one that just waits. */
export type CellLook = CellState | 'failing'

/** Meaning of each look, in the order of the legend. */
const meaningByLook: Readonly<Record<CellLook, string>> = {
  delivered: 'delivered',
  collected: 'collected, on its way',
  due: 'due',
  failing: 'due, failed so far',
  held: 'held until something is changed',
  dead: 'refused, kept with the reason',
  gap: 'gap, can no longer be read',
  unexpected: 'not expected',
}

/** Drawn on 12 × 12 units in the current colour; distinguishable by shape alone. */
const shapeByLook: Readonly<Record<CellLook, Html>> = {
  delivered: html`<rect x="1" y="1" width="10" height="10" rx="2" fill="currentColor"/>`,
  collected: html`<rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1.6" fill="none" stroke="currentColor" stroke-width="1.2"/><path d="M1.6 6h8.8v3a1.4 1.4 0 0 1-1.4 1.4H3A1.4 1.4 0 0 1 1.6 9Z" fill="currentColor"/>`,
  due: html`<rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1.6" fill="none" stroke="currentColor" stroke-width="1.2"/>`,
  failing: html`<rect x="1.6" y="1.6" width="8.8" height="8.8" rx="1.6" fill="none" stroke="currentColor" stroke-width="1.2"/><circle cx="6" cy="6" r="1.8" fill="currentColor"/>`,
  held: html`<path d="M3.75 1.5v9M8.25 1.5v9" stroke="currentColor" stroke-width="2.5" stroke-linecap="round"/>`,
  dead: html`<path d="M6 .6 11.4 6 6 11.4.6 6Z" fill="currentColor"/>`,
  gap: html`<path d="m2 2 8 8m0-8-8 8" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/>`,
  unexpected: html`<circle cx="6" cy="6" r="1.3" fill="currentColor"/>`,
}

const looks = Object.keys(meaningByLook) as CellLook[]

/** Definitions of the shapes, once in the page; `shape` refers to them. */
export function shapeDefinitions(): Html {
  return html`<svg class="definitions" width="0" height="0" aria-hidden="true">${looks.map(
    look => html`<symbol id="look-${look}" viewBox="0 0 12 12">${shapeByLook[look]}</symbol>`,
  )}</svg>`
}

/** One shape in its colour. Without words it is decoration next to a text that says the same. */
export function shape(look: CellLook, words?: string): Html {
  const meaning = words === undefined ? html`aria-hidden="true"` : html`role="img" aria-label="${words}"`
  return html`<svg class="shape ${look}" ${meaning}><use href="#look-${look}"/></svg>`
}

/** Every shape with its meaning. */
export function legend(): Html {
  return html`<ul class="legend">${looks.map(look => html`<li>${shape(look)} ${meaningByLook[look]}</li>`)}</ul>`
}

/** One collector's hour; its title has all details. */
export function hourCell(cell: HourCell, hour: Hour): Html {
  const look = lookOf(cell)
  const words = wordsOf(cell)
  const title = `${dayClockText(hour)} UTC (${hourText(hour)}): ${words}`
  return html`<td role="cell" title="${title}">${shape(look, words)}</td>`
}

function lookOf({ state, fault }: HourCell): CellLook {
  return state === 'due' && fault ? 'failing' : state
}

function wordsOf(cell: HourCell): string {
  const attempts = cell.attempts > 1 ? `, ${cell.attempts} attempts` : ''
  const reason = cell.fault ? `. ${cell.fault.message}` : ''
  return `${meaningByLook[lookOf(cell)]}${attempts}${reason}`
}
