/** Shorter ones would black out ordinary words; a secret is longer. */
const secretCharsMin = 6

/** Takes known secrets out of text, however they are written there: as they are, in JSON, in a URL, or in one in the other. */
export class Redactor {
  readonly #secrets = new Set<string>()
  #pattern: RegExp | undefined

  /** Makes secrets known; from now on no text passes with them. */
  add(secrets: readonly string[]): void {
    const added = secrets.filter(secret => secret.length >= secretCharsMin && !this.#secrets.has(secret))
    if (added.length === 0) return
    for (const secret of added) this.#secrets.add(secret)
    // Longest first, so that a secret that begins like another does not leave its end.
    const longestFirst = [...this.#secrets].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(`(?<!\\\\)(?:${longestFirst.map(spellings).join('|')})`, 'g')
  }

  redact(text: string): string {
    return this.#pattern ? text.replace(this.#pattern, '[redacted]') : text
  }
}

/**
 * A pattern of every spelling of a secret: each character as it is with the backslashes that JSON puts before it, as
 * `\u…`, or percent-encoded, also when that was done more than once.
 */
function spellings(secret: string): string {
  return Array.from(secret, character => {
    const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
    const bytes = [...Buffer.from(character)].map(byte => `%(?:25)*${inAnyCase(byte.toString(16).padStart(2, '0'))}`)
    return `(?:\\\\*(?:${literally(character)}|u${inAnyCase(code)})|${bytes.join('')})`
  }).join('')
}

function literally(character: string): string {
  return /^\w$/.test(character) ? character : `\\${character}`
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/g, letter => `[${letter}${letter.toUpperCase()}]`)
}
