import { secretCharsMin } from '../model/host.ts'
import { decoded, type Spelling, spellingsOf, withoutBytesOf } from './spellings.ts'

/** Where a text was cut: by a collector's process, by Node in a long value, or at its end. */
const cutOff = /…|'?\.\.\. \d+ more |$/g

/**
 * Removes known secrets from text in any encoding: plain, JSON, URL, HTML, base64, lists of bytes, or one within the other; also the
 * beginning of a secret that was cut off.
 */
export class Redactor {
  readonly #secrets = new Set<string>()
  #spellings: readonly Spelling[] = []

  /** Adds secrets; from now on they are removed from every text. */
  add(secrets: readonly string[]): void {
    const added = secrets.filter(secret => secret.length >= secretCharsMin && !this.#secrets.has(secret))
    if (added.length === 0) return
    for (const secret of added) this.#secrets.add(secret)
    const all = [...this.#spellings, ...[...new Set(added)].flatMap(spellingsOf)]
    // Longest first, so that a secret which begins like another leaves no rest.
    this.#spellings = all.sort((a, b) => b.chars - a.chars)
  }

  redact(text: string): string {
    const plain = decoded(text)
    let clean = text
    for (const { probe, pattern } of this.#spellings) {
      // Few texts contain any: this check is much faster than the pattern.
      if (text.includes(probe) || plain.includes(probe)) clean = clean.replace(pattern(), '[redacted]')
    }
    const starts = [...this.#secrets].map(secret => secret.slice(0, secretCharsMin))
    return this.#withoutBeginnings(withoutBytesOf(starts, clean))
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

/** Length of a secret's beginning at the end of a text, in characters; 0 when it is too short. */
function beginningAtEnd(text: string, secret: string): number {
  const last = text.at(-1)
  for (let chars = Math.min(secret.length - 1, text.length); chars >= secretCharsMin; chars -= 1) {
    if (secret[chars - 1] === last && text.endsWith(secret.slice(0, chars))) return chars
  }
  return 0
}
