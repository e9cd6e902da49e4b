import { isWord, secretCharsMin } from '../model/host.ts'
import { parsedJson } from '../model/json.ts'

/** Where a text was cut: by a collector's process, or by Node in a long value. */
const cutOff = /…|'?\.\.\. \d+ more /g
/** As `cutOff`, or at its end. */
const cutOffOrEnd = new RegExp(`${cutOff.source}|$`, 'g')

/** A string of a JSON text, with the colon behind it where it is a name, or a list of numbers, which may be bytes. */
const jsonParts = /"(?:[^"\\]|\\.)*"(\s*:)?|\d{1,3}(?:,\s*\d{1,3}){7,}/gs

/**
 * Removes known secrets from text in any encoding: plain, JSON, URL, HTML, base64, lists of bytes, or one within the other; also the
 * beginning of a secret that was cut off.
 *
 * A secret may have an owner, a collector: it is then no reason to change what another collector says.
 */
export class Redactor {
  /** Owners of each secret; `undefined` for one that concerns everyone. */
  readonly #owners = new Map<string, ReadonlySet<string> | undefined>()
  #spellings: readonly Spelling[] = []

  /** Adds secrets; from now on they are removed from every text. @param owner whose they are; default: everyone's */
  add(secrets: readonly string[], owner?: string): void {
    const ownSecrets = new Set(secrets.filter(secret => secret.length >= secretCharsMin))
    const newSecrets = [...ownSecrets].filter(secret => !this.#owners.has(secret))
    for (const secret of ownSecrets) {
      const owners = this.#owners.get(secret)
      if (owner === undefined) this.#owners.set(secret, undefined)
      else if (owners || newSecrets.includes(secret)) this.#owners.set(secret, new Set([...(owners ?? []), owner]))
    }
    if (newSecrets.length === 0) return
    // Longest first, so that a secret which begins like another leaves no rest.
    this.#spellings = [...this.#spellings, ...newSecrets.flatMap(spellingsOf)].sort((a, b) => b.chars - a.chars)
  }

  /** A text without secrets. @param by those of everyone and of this owner; default: all */
  redact(text: string, by?: string): string {
    return this.#redacted(text, secret => by === undefined || this.#concerns(secret, by), cutOffOrEnd)
  }

  /** A JSON text without secrets in its texts, and still JSON, whatever a secret is. Names keep the secrets of an owner. */
  redactJson(json: string): string {
    return json.replace(jsonParts, (part, colon?: string) => {
      const isOne = (secret: string) => colon === undefined || this.#concerns(secret)
      const text = part.startsWith('"')
        ? String(parsedJson(colon === undefined ? part : part.slice(0, -colon.length)))
        : part
      const clean = this.#redacted(text, isOne, cutOff)
      return clean === text ? part : `${JSON.stringify(clean)}${colon ?? ''}`
    })
  }

  #concerns(secret: string, owner?: string): boolean {
    const owners = this.#owners.get(secret)
    return !owners || (owner !== undefined && owners.has(owner))
  }

  #starts(isOne: (secret: string) => boolean): readonly string[] {
    return [...this.#owners.keys()].filter(isOne).map(secret => secret.slice(0, secretCharsMin))
  }

  #redacted(text: string, isOne: (secret: string) => boolean, cuts: RegExp): string {
    const plain = decoded(text)
    let clean = text
    for (const { secret, probe, replace } of this.#spellings) {
      // Few texts contain any: this check is much faster than the patterns.
      if ((text.includes(probe) || plain.includes(probe)) && isOne(secret)) clean = replace(clean)
    }
    return this.#withoutBeginnings(withoutBytesOf(this.#starts(isOne), clean), isOne, cuts)
  }

  #withoutBeginnings(text: string, isOne: (secret: string) => boolean, cuts: RegExp): string {
    let clean = ''
    let from = 0
    for (const { index } of text.matchAll(cuts)) {
      const before = text.slice(from, index)
      let chars = 0
      for (const secret of this.#owners.keys()) {
        if (isOne(secret)) chars = Math.max(chars, beginningAtEnd(before, secret))
      }
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

/** Finds a secret, or its base64 form, in a text. */
interface Spelling {
  readonly secret: string
  /** Length of the spelling, in characters. */
  readonly chars: number
  /** A part of every text that contains it, or of `decoded` of that text. */
  readonly probe: string
  /** The original text without it. */
  replace(text: string): string
}

/** Every spelling of a secret: as text, and in base64 at any offset of the encoded bytes. */
function spellingsOf(secret: string): Spelling[] {
  return [secret, ...base64Of(secret)].map(spelling => {
    const [probe = ''] = (spelling.match(/[A-Za-z0-9]+/g) ?? []).sort((a, b) => b.length - a.length)
    let patterns: readonly RegExp[] | undefined
    const replace = (text: string) => {
      patterns ??= patternsOf(spelling)
      return withoutMatches(text, patterns)
    }
    return { secret, chars: spelling.length, probe, replace }
  })
}

/**
 * Patterns of the pieces of a secret, the first to be searched, each other to stand where the one before ends: one pattern for
 * all of a long secret would overflow the stack. No piece begins within backslashes, of which a pattern takes any number.
 */
function patternsOf(spelling: string): readonly RegExp[] {
  const [first = '', ...others] = spelling.match(/.{1,250}\\*/gsu) ?? []
  return [new RegExp(`(?<!\\\\)${spelled(first)}`, 'g'), ...others.map(piece => new RegExp(spelled(piece), 'y'))]
}

function withoutMatches(text: string, [first, ...others]: readonly RegExp[]): string {
  let clean = ''
  let from = 0
  for (const match of text.matchAll(first ?? /(?!)/g)) {
    if (match.index < from) continue
    const end = others.reduce((at, pattern) => endOfMatch(pattern, text, at), match.index + match[0].length)
    if (end < 0) continue
    clean += `${text.slice(from, match.index)}[redacted]`
    from = end
  }
  return clean + text.slice(from)
}

/** Where a pattern that stands at a place ends; -1 where it does not stand there. */
function endOfMatch(pattern: RegExp, text: string, at: number): number {
  if (at < 0) return -1
  pattern.lastIndex = at
  const match = pattern.exec(text)
  return match ? at + match[0].length : -1
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
  return text
    .replace(hexadecimalBytes, list => {
      const digits = list.replace(/0x|[^0-9a-f]/gi, '')
      const isSecret = [digits, digits.slice(1)].some(from => holdsAny(Buffer.from(from, 'hex'), starts))
      return isSecret ? '[redacted]' : list
    })
    .replace(decimalBytes, list => {
      return holdsAny(Buffer.from(list.split(',').map(Number)), starts) ? '[redacted]' : list
    })
}

function holdsAny(bytes: Buffer, texts: readonly string[]): boolean {
  return texts.some(text => bytes.includes(text))
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

/** A backslash, also in a JSON text or a URL. */
const backslash = '(?:\\\\(?:u005[cC])?|%(?:25)*5[cC])'

/**
 * Pattern for a text in which each character may be plain, preceded by backslashes, `\u…`, or percent-encoded, also
 * several times, and as a form encodes it. Backslashes stand for themselves and for those before the next character, which so
 * has one way to match.
 */
function spelled(text: string): string {
  return (text.match(/\\+|[^\\]/gu) ?? [])
    .map((part, place, parts) => {
      if (part.startsWith('\\')) return `${backslash}{${part.length},}`
      const code = (part.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
      const bytes = [...Buffer.from(part)].map(byte => `%(?:25)*${inAnyCase(byte.toString(16).padStart(2, '0'))}`)
      // A form writes a space as "+".
      const space = part === ' ' ? '|\\+' : ''
      const shortEscape = jsonEscapes[part] === undefined ? '' : `|${backslash}${jsonEscapes[part]}`
      const before = parts[place - 1]?.startsWith('\\') ? '' : `${backslash}*`
      return `${before}(?:${literally(part)}|u${inAnyCase(code)}|${bytes.join('')}${space}|${entity(part)}${shortEscape})`
    })
    .join('')
}

/** Letters that JSON writes in place of a character, after a backslash. */
const jsonEscapes: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }

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
