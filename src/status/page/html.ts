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
export type TemplateValue = Html | string | number | undefined | readonly TemplateValue[]

/** Markup from a template. Every value is escaped for element content and for quoted attributes. */
export function html(texts: TemplateStringsArray, ...parts: readonly TemplateValue[]): Html {
  return Html.trusted(texts.map((text, index) => text + markupOf(parts[index])).join(''))
}

/** Empty markup. */
export const nothing = html``

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
