/**
 * A text that every store, encoder and page takes: well-formed Unicode without a NUL. Other programs write anything, and
 * PostgreSQL refuses both. Each becomes U+FFFD.
 */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The first characters of a text, at most so many UTF-16 units, never half of a surrogate pair. */
export function firstChars(text: string, charsMax: number): string {
  const end = text.codePointAt(charsMax - 1) ?? 0
  return text.slice(0, end > 0xffff ? charsMax - 1 : charsMax)
}

/** A text of at most so many UTF-16 units, then a mark where it was longer. */
export function shortened(text: string, charsMax: number): string {
  return text.length > charsMax ? `${firstChars(text, charsMax)}…` : text
}
