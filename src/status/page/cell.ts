import type { CellState, HourRun } from '../snapshot.ts'
import { type Html, html } from './html.ts'
import { barByLook } from './style/bars.ts'

/** Look of an hour: a due hour that has failed looks different from one that just waits. */
export type CellLook = CellState | 'failing'

/** Meaning of each look, in the order of the legend. */
export const meaningByLook: Readonly<Record<CellLook, string>> = {
  delivered: 'delivered',
  collected: 'collected, on its way',
  due: 'due',
  failing: 'due, failed so far',
  held: 'held until something is changed',
  dead: 'refused, kept with the reason',
  gap: 'gap, can no longer be read',
  unexpected: 'not expected',
}

const looks = Object.keys(meaningByLook) as CellLook[]

/** The look of a run of hours. */
export function lookOf({ state, fault }: Pick<HourRun, 'state' | 'fault'>): CellLook {
  return state === 'due' && fault ? 'failing' : state
}

/** Definitions of the shapes, once in the page; `shape` refers to them. */
export function shapeDefinitions(): Html {
  return html`<svg class="definitions" width="0" height="0" aria-hidden="true">${looks.map(
    look =>
      html`<symbol id="look-${look}" viewBox="0 0 10 10"><rect fill="currentColor" x="2" width="6" y="${barByLook[look].top}" height="${barByLook[look].height}"/></symbol>`,
  )}</svg>`
}

/** One shape in its colour, as decoration next to a text that says the same. */
export function shape(look: CellLook): Html {
  return html`<svg class="shape ${look}" aria-hidden="true"><use href="#look-${look}"/></svg>`
}

/** Every shape with its meaning. */
export function legend(): Html {
  return html`<ul class="legend">${looks.map(look => html`<li>${shape(look)} ${meaningByLook[look]}</li>`)}</ul>`
}
