/**
 * A text that every store, encoder and page takes: well-formed Unicode without a NUL. Other programs write anything, and
 * PostgreSQL refuses both. Each becomes U+FFFD.
 */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** Signs that are not seen, apart from tabs and line breaks: controls, and what writes the rest from right to left. */
const unseen = /[^\P{C}\t\n]|[\p{Zl}\p{Zp}]/gu

/** A text without signs that move a terminal's cursor, or turn its words around. */
export function printable(text: string): string {
  return text.replace(unseen, '')
}

/** A text of others on one line, so that it stands for no other line of a page, a log, a message or a terminal. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, ' ')
}

/** A JSON text with these signs escaped, which is the same value. */
export function printableJson(text: string): string {
  return text.replace(unseen, signs =>
    signs
      .split('')
      .map(sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Characters of a text of a peer that anything looks at. */
const peerTextCharsMax = 2_000

declare const isCut: unique symbol

/** The beginning of a text that another program wrote, as `peerText` makes it. */
export type PeerText = string & { readonly [isCut]: true }

/**
 * The beginning of a text of a node, a service, a source, a receiver or a process: all of them pass here before anything
 * looks for words in them, so that a long one cannot hold the daemon. A word that is cut goes whole, as it may be the
 * beginning of a secret.
 */
export function peerText(text: string): PeerText {
  if (text.length <= peerTextCharsMax) return text as PeerText
  const head = firstChars(text, peerTextCharsMax)
  const end = Math.max(...[' ', '\n', '\t'].map(blank => head.lastIndexOf(blank)))
  return `${end > 0 ? head.slice(0, end) : head}…` as PeerText
}

/** The title of a page of HTML; empty where it has none. */
export function titleOf(page: PeerText): string {
  const tag = page.toLowerCase().indexOf('<title')
  const start = tag < 0 ? -1 : page.indexOf('>', tag)
  return start < 0 ? '' : (page.slice(start + 1).split('<', 1)[0] ?? '')
}

/** A text without the repetitions of a word at its end. A pattern for them takes the square of the text's length. */
export function withoutEnd(text: string, word: string): string {
  let end = text.length
  while (text.endsWith(word, end)) end -= word.length
  return text.slice(0, end)
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

/** A word quoted for a shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** A text as a sentence: a capital letter first, and a full stop unless it ends already. */
export function asSentence(text: string): string {
  return `${capital(text)}${/[.!?…]$/.test(text) ? '' : '.'}`
}

/** A text with a capital letter first, unless that is of a name or a command. */
export function capital(text: string): string {
  return /^(?!tidegauge\b)[a-z]+[\s,:]/.test(text) ? text.slice(0, 1).toUpperCase() + text.slice(1) : text
}
