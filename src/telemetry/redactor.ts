import { isWord, secretCharsMin } from '../model/host.ts'

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
    const newSecrets = secrets.filter(secret => secret.length >= secretCharsMin && !this.#secrets.has(secret))
    if (newSecrets.length === 0) return
    for (const secret of newSecrets) this.#secrets.add(secret)
    const all = [...this.#spellings, ...[...new Set(newSecrets)].flatMap(spellingsOf)]
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

/** Length of a secret's beginning at the end of a text, in characters; 0 when it is too short, or an ordinary word. */
function beginningAtEnd(text: string, secret: string): number {
  const last = text.at(-1)
  for (let chars = Math.min(secret.length - 1, text.length); chars >= secretCharsMin; chars -= 1) {
    if (secret[chars - 1] !== last || !text.endsWith(secret.slice(0, chars))) continue
    return isWord(secret.slice(0, chars)) ? 0 : chars
  }
  return 0
}

/** Pattern that finds a secret, or its base64 form, in a text. */
interface Spelling {
  /** Length of the spelling, in characters. */
  readonly chars: number
  /** A part of every text that contains it, or of `decoded` of that text. */
  readonly probe: string
  /** Pattern for the original text; compiled when first needed. */
  pattern(): RegExp
}

/** Every spelling of a secret: as text, and in base64 at any offset of the encoded bytes. */
function spellingsOf(secret: string): Spelling[] {
  return [secret, ...base64Of(secret)].map(text => {
    const [probe = ''] = (text.match(/[A-Za-z0-9]+/g) ?? []).sort((a, b) => b.length - a.length)
    let expression: RegExp | undefined
    const pattern = () => {
      expression ??= new RegExp(`(?<!\\\\)${spelled(text)}`, 'g')
      return expression
    }
    return { chars: text.length, probe, pattern }
  })
}

/** A text with its letters and digits decoded from percent-encoding, JSON escapes and HTML, also nested ones. */
export function decoded(text: string): string {
  const unescaped = text.replaceAll('\\', '')
  if (!/%|u00|&#|;#/.test(unescaped)) return unescaped
  return unescaped.replace(
    /(?:%(?:25)*|u00)([2-7][0-9a-f])|&(?:amp;)*#(?:x0*([2-7][0-9a-f])|0*(\d{2,3}));/gi,
    (_, escaped?: string, hexadecimal?: string, decimal?: string) =>
      String.fromCharCode(Number(decimal ?? `0x${escaped ?? hexadecimal}`)),
  )
}

/** Bytes as hexadecimal digits, with or without something between them: `<Buffer 73 6b …>`, `73:6b`, `0x736b`. */
const hexadecimalBytes = /[0-9a-f]{2}(?:[\s:,-]{0,2}(?:0x)?[0-9a-f]{2}){7,}/gi
/** Bytes as a list of numbers, as JSON has those of a buffer. */
const decimalBytes = /\d{1,3}(?:,\s*\d{1,3}){7,}/g

/** A text in which lists of bytes are replaced that contain one of these texts. */
function withoutBytesOf(starts: readonly string[], text: string): string {
  const bytes = starts.map(start => Buffer.from(start))
  const holds = (list: Buffer) => bytes.some(some => list.includes(some))
  return text
    .replace(hexadecimalBytes, list => {
      const digits = list.replace(/0x|[^0-9a-f]/gi, '')
      const isSecret = [digits, digits.slice(1)].some(from => holds(Buffer.from(from, 'hex')))
      return isSecret ? '[redacted]' : list
    })
    .replace(decimalBytes, list => (holds(Buffer.from(list.split(',').map(Number))) ? '[redacted]' : list))
}

/** Shorter pieces of base64 occur in any text by chance. */
const base64CharsMin = 7

/**
 * The base64 characters that the secret alone determines, for each of its three offsets in the groups of bytes; also in
 * the alphabet for URLs.
 */
function base64Of(secret: string): string[] {
  const bits = Buffer.byteLength(secret) * 8
  const cores = [0, 1, 2].map(offset => {
    const encoded = Buffer.from(`${' '.repeat(offset)}${secret}`).toString('base64')
    return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor((offset * 8 + bits) / 6))
  })
  const all = cores.flatMap(core => [core, core.replaceAll('+', '-').replaceAll('/', '_')])
  return [...new Set(all)].filter(core => core.length >= base64CharsMin)
}

/**
 * Pattern for a text in which each character may be plain, preceded by backslashes, `\u…`, or percent-encoded, also
 * several times, and as a form encodes it.
 */
function spelled(text: string): string {
  return Array.from(text, character => {
    const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
    // A form writes a space as "+".
    const space = character === ' ' ? '|\\+' : ''
    const bytes = [...Buffer.from(character)].map(byte => `%(?:25)*${inAnyCase(byte.toString(16).padStart(2, '0'))}`)
    return `(?:\\\\*(?:${literally(character)}|u${inAnyCase(code)})|${bytes.join('')}${space}|${entity(character)})`
  }).join('')
}

/** Pattern for a character as HTML writes it, also several times. */
function entity(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const name = entityNames[character]
  return `&(?:amp;)*(?:#0*${code}|#[xX]0*${inAnyCase(code.toString(16))}${name === undefined ? '' : `|${name}`});`
}

const entityNames: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

function literally(character: string): string {
  return /^\w$/.test(character) ? character : `\\${character}`
}

function inAnyCase(hex: string): string {
  return hex.replace(/[a-f]/g, letter => `[${letter}${letter.toUpperCase()}]`)
}
