import { type Hour, hourText, instantText } from '../../model/hour.ts'

/** Markup that is safe to send. Only `html` creates it, so unescaped text is a type error. */
export class Html {
  readonly #markup: string

  private constructor(markup: string) {
    this.#markup = markup
  }

  /** For `html` and constant text of this code: never for anything from outside. */
  static trusted(markup: string): Html {
    return new Html(markup)
  }

  toString(): string {
    return this.#markup
  }
}

/** A value in a template: text and numbers are escaped, markup is kept, `undefined` is left out. */
type TemplateValue = Html | string | number | undefined | readonly TemplateValue[]

/** Markup from a template. Every value is escaped for element content and for quoted attributes. */
export function html(texts: TemplateStringsArray, ...parts: readonly TemplateValue[]): Html {
  return Html.trusted(texts.map((text, index) => text + markupOf(parts[index])).join(''))
}

/** Empty markup. */
export const nothing = html``

/** Titles of pages, as a tab shows them. */
export const titles = { ready: 'Tidegauge', notReady: 'NOT READY · Tidegauge', lost: 'No answer · Tidegauge' } as const

function markupOf(part: TemplateValue): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.toString()
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return part.map(markupOf).join('')
}

const entityByCharacter: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => entityByCharacter[character] ?? '')
}

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** A non-breaking space between a number and its unit. */
const joined = '\u00a0'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

/** `20 Nov`, in UTC. */
export function dayText(atMs: number): string {
  const date = new Date(atMs)
  return `${date.getUTCDate()}${joined}${months[date.getUTCMonth()] ?? ''}`
}

/** `13:04`, in UTC. */
export function clockText(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 16)
}

/** `20 Nov, 13:04`, in UTC; the page says once that all its times are in UTC. */
export function dayClockText(atMs: number): string {
  return `${dayText(atMs)}, ${clockText(atMs)}`
}

/** The span between two instants in its largest whole unit: `40 s`, `12 min`, `5 h`, `3 d`; never negative. */
export function spanText(ms: number): string {
  if (ms < minuteMs) return `${Math.max(0, Math.floor(ms / secondMs))}${joined}s`
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)}${joined}min`
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)}${joined}h`
  return `${Math.floor(ms / dayMs)}${joined}d`
}

/** An instant as `12 min ago`, with the exact one in the title. */
export function ago(atMs: number, nowMs: number): Html {
  const exact = instantText(atMs)
  const text = nowMs - atMs < 10 * secondMs ? 'just now' : `${spanText(nowMs - atMs)} ago`
  return html`<time datetime="${exact}" title="${exact}">${text}</time>`
}

/** A range of hours, for a sentence: `20 Nov, 13:00`, `20 Nov, 13:00 to 16:00`, `19 Nov, 22:00 to 20 Nov, 04:00`. */
export function hoursText(first: Hour, last: Hour): string {
  if (first === last) return dayClockText(first)
  const sameDay = dayText(first) === dayText(last)
  return `${dayClockText(first)} to ${sameDay ? clockText(last) : dayClockText(last)}`
}

/** An hour as a `<time>` with the given words. */
export function hourTime(hour: Hour, text: string): Html {
  return html`<time datetime="${hourText(hour)}" title="${hourText(hour)}">${text}</time>`
}

/** An instant to come as `13:06 (in 2 min)`; one that has passed as its time alone. The page's script counts it down. */
export function until(atMs: number, nowMs: number): Html {
  const exact = instantText(atMs)
  if (atMs <= nowMs) return html`<time datetime="${exact}">${clockText(atMs)}</time>`
  return html`<time datetime="${exact}">${clockText(atMs)}</time> (<span data-until="${atMs}">in ${spanText(atMs - nowMs)}</span>)`
}

/** A collector's id without that of its protocol. */
export function ownId(collector: string, protocolId: string): string {
  return collector.startsWith(`${protocolId}/`) ? collector.slice(protocolId.length + 1) : collector
}
