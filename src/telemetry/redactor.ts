import { secretCharsMin } from '../model/secret-parts.ts'
import { decoded, type Spelling, spellingsOf } from './spellings.ts'

/** Where something was cut off: by a collector's process, or by Node where it shows a long text; and where a text ends. */
const cutOff = /…|'?\.\.\. \d+ more |$/g

/**
 * Takes known secrets out of text, however they are written there: as they are, in JSON, in a URL, in base64, or in one in
 * the other; also the beginning of one where a text was cut off in the middle of it.
 */
export class Redactor {
  readonly #secrets = new Set<string>()
  #spellings: readonly Spelling[] = []

  /** Makes secrets known; from now on no text passes with them. */
  add(secrets: readonly string[]): void {
    const added = secrets.filter(secret => secret.length >= secretCharsMin && !this.#secrets.has(secret))
    if (added.length === 0) return
    for (const secret of added) this.#secrets.add(secret)
    const all = [...this.#spellings, ...[...new Set(added)].flatMap(spellingsOf)]
    // Longest first, so that a secret that begins like another does not leave its end.
    this.#spellings = all.sort((a, b) => b.chars - a.chars)
  }

  redact(text: string): string {
    const plain = decoded(text)
    let clean = text
    for (const { probe, pattern } of this.#spellings) {
      // Few texts hold any: a look is much quicker than the pattern.
      if (text.includes(probe) || plain.includes(probe)) clean = clean.replace(pattern(), '[redacted]')
    }
    return this.#withoutBeginnings(clean)
  }

  #withoutBeginnings(text: string): string {
    let clean = ''
    let from = 0
    for (const { index } of text.matchAll(cutOff)) {
      const before = text.slice(from, index)
      let chars = 0
      for (const secret of this.#secrets) chars = Math.max(chars, beginningAtEnd(before, secret))
      clean += chars === 0 ? before : `${before.slice(0, -chars)}[redacted]`
      from = index
    }
    return clean + text.slice(from)
  }
}

/** Characters of a secret's beginning that a text ends with; 0 for fewer than make a secret. */
function beginningAtEnd(text: string, secret: string): number {
  const last = text.at(-1)
  for (let chars = Math.min(secret.length - 1, text.length); chars >= secretCharsMin; chars -= 1) {
    if (secret[chars - 1] === last && text.endsWith(secret.slice(0, chars))) return chars
  }
  return 0
}
