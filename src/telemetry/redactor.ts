import { isWord, secretCharsMin } from '../model/host.ts'
import { parsedJson } from '../model/json.ts'

/** Where a text was cut: by a collector's process, or by Node in a long value. */
const cutOff = /…|'?\.\.\. \d+ more /g
/** As `cutOff`, or at its end. */
const cutOffOrEnd = new RegExp(`${cutOff.source}|$`, 'g')

/**
 * A string of a JSON text, with the colon behind it where it is a name; a list of numbers, which may be bytes; a number. A
 * string without its end is one, too: each of its quotes would be the beginning of another.
 */
const jsonParts =
  /"[^"\\]*(?:\\(?:.|$)[^"\\]*)*(?:"(\s*:)?|$)|(?<![\d.])\d{1,3}(?:,\s*\d{1,3}){7,}(?![\d.])|-?\d[\d.eE+-]{5,}/gs

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
    this.#spellings = [...this.#spellings, ...newSecrets.flatMap(spellingsOf)]
  }

  /** A text without secrets. @param by those of everyone and of this owner; default: all */
  redact(text: string, by?: string): string {
    return this.#redacted(text, secret => by === undefined || this.#concerns(secret, by), cutOffOrEnd)
  }

  /** A JSON text without secrets in its texts, and still JSON, whatever a secret is. Names keep the secrets of an owner. */
  redactJson(json: string): string {
    return json.replace(jsonParts, (part, colon?: string) => {
      const isOne = (secret: string) => colon === undefined || this.#concerns(secret)
      const literal = colon === undefined ? part : part.slice(0, -colon.length)
      // Numbers are looked at as they are written, and so is a text that is beyond the bounds of a value.
      const text = literal.startsWith('"') ? String(parsedJson(literal) ?? literal) : literal
      const redactedText = this.#redacted(text, isOne, cutOff)
      return redactedText === text ? part : `${JSON.stringify(redactedText)}${colon ?? ''}`
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
    if (text.length < secretCharsMin) return text
    const plain = new PlainText(text)
    const spans = this.#spellings.flatMap(({ secret, spelling, edges }) => {
      const found = isOne(secret) ? plain.spansOf(spelling) : []
      return edges ? found.map(span => withEdges(text, span, edges)) : found
    })
    const exactSpans = [...this.#owners.keys()].flatMap(secret => (isOne(secret) ? spansIn(text, secret) : []))
    const redactedText = withoutSpans(text, [...spans, ...exactSpans])
    return this.#withoutBeginnings(
      withoutBytesOf(() => this.#starts(isOne), redactedText),
      isOne,
      cuts,
    )
  }

  #withoutBeginnings(text: string, isOne: (secret: string) => boolean, cuts: RegExp): string {
    let redactedText = ''
    let from = 0
    for (const { index } of text.matchAll(cuts)) {
      const textBefore = text.slice(from, index)
      let chars = 0
      for (const secret of this.#owners.keys()) {
        if (isOne(secret)) chars = Math.max(chars, beginningAtEnd(textBefore, secret))
      }
      redactedText += chars === 0 ? textBefore : `${textBefore.slice(0, -chars)}[redacted]`
      from = index
    }
    return redactedText + text.slice(from)
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

/** A form of a secret that is looked for. */
interface Spelling {
  readonly secret: string
  readonly spelling: PlainText
  /** Of base64 alone. */
  readonly edges?: Base64Edges
}

/** Whether the character of base64 before the core, and that after it, has bits of the secret, too. */
interface Base64Edges {
  readonly before: boolean
  readonly after: boolean
}

/** Every spelling of a secret: as text, and in base64 at any offset of the encoded bytes. */
function spellingsOf(secret: string): Spelling[] {
  const encoded = base64Of(secret).map(({ core, edges }) => ({ secret, spelling: new PlainText(core), edges }))
  return [{ secret, spelling: new PlainText(secret) }, ...encoded]
}

/** A part of a text: where it begins, and where it ends. */
type TextPart = readonly [from: number, to: number]

function spansIn(text: string, part: string): TextPart[] {
  const spans: TextPart[] = []
  for (let at = text.indexOf(part); at >= 0 && part !== ''; at = text.indexOf(part, at + part.length)) {
    spans.push([at, at + part.length])
  }
  return spans
}

/** A text in which these parts, which may overlap, are replaced. */
function withoutSpans(text: string, spans: readonly TextPart[]): string {
  let redactedText = ''
  let from = 0
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (start >= from) redactedText += `${text.slice(from, start)}[redacted]`
    from = Math.max(from, end)
  }
  return redactedText + text.slice(from)
}

/**
 * A character as a URL, JSON or HTML writes it, also within one another: a byte, a unit of UTF-16, a number or a name, a letter
 * that JSON writes for a blank, a blank, a backslash, several characters that stand for themselves, or another one. A backslash
 * stands before what JSON escapes, however often it was escaped.
 */
const writtenCharacters =
  /%(?:25)*([0-9a-f]{2})|(?<=\\|%(?:25)*5c)u([0-9a-f]{4})|&(?:amp;)*(?:#x0*([0-9a-f]{1,6})|#0*(\d{1,7})|(amp|lt|gt|quot|apos));|(?<=\\|%(?:25)*5c)([nrtbf])|[^%\\&\s+\u0080-\u{10ffff}]+|./gisu

const entityNames: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * A text in which all ways to write a character are the same: its bytes in UTF-8, one character each, without backslashes, and
 * with a blank in place of white space, of `+`, which a form writes for it, and of the letter that JSON writes for it. To
 * search it takes as long for any text and secret.
 */
class PlainText {
  readonly #plain: string
  /** With blanks, otherwise as it is written; of a text in which every character stands for itself. */
  readonly #blank: string
  /** Where the writing of each character begins, and ends, in the text; absent where every character stands for itself. */
  readonly #places: { readonly starts: number[]; readonly ends: number[] } | undefined

  constructor(text: string) {
    this.#blank = text.replace(/[\s+]/g, ' ')
    this.#places = /[%\\&]/.test(text) ? { starts: [], ends: [] } : undefined
    this.#plain = this.#places ? plainOf(text, this.#places) : ''
  }

  /** Where another text stands in this one. */
  spansOf(part: PlainText): TextPart[] {
    const places = this.#places
    if (!places) return spansIn(this.#blank, part.#blank)
    const spelling = part.#places ? part.#plain : Buffer.from(part.#blank).toString('latin1')
    return spansIn(this.#plain, spelling).map(([from, to]) => [places.starts[from] ?? 0, places.ends[to - 1] ?? 0])
  }
}

function plainOf(text: string, { starts, ends }: { readonly starts: number[]; readonly ends: number[] }): string {
  let plainText = ''
  let backslashesFrom: number | undefined
  for (const match of text.matchAll(writtenCharacters)) {
    const characters = meantBy(match)
    const from = backslashesFrom ?? match.index
    backslashesFrom = characters === '\\' ? from : undefined
    if (characters === '\\') continue
    plainText += characters
    const isWhole = characters.length !== match[0].length
    for (let index = 0; index < characters.length; index += 1) {
      starts.push(index === 0 ? from : match.index + (isWhole ? 0 : index))
      ends.push(match.index + (isWhole ? match[0].length : index + 1))
    }
  }
  return plainText
}

/** The characters that are meant, those beyond ASCII by their bytes in UTF-8. */
function meantBy([writtenText, byte, unit, hexadecimal, decimal, name, letter]: RegExpMatchArray): string {
  if (letter !== undefined) return ' '
  if (name !== undefined) return entityNames[name.toLowerCase()] ?? writtenText
  // Percent-encoded are bytes, of which several may be one character.
  const hex = unit ?? hexadecimal
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  const characters =
    byte !== undefined
      ? String.fromCharCode(Number.parseInt(byte, 16))
      : Number.isNaN(code)
        ? Buffer.from(writtenText).toString('latin1')
        : Buffer.from(String.fromCodePoint(Math.min(code, 0x10_ff_ff))).toString('latin1')
  return characters.length === 1 && /[\s+]/.test(characters) ? ' ' : characters
}

/** Bytes as hexadecimal digits, with or without something between them: `<Buffer 73 6b …>`, `73:6b`, `0x736b`. */
const hexadecimalBytes = /[0-9a-f]{2}(?:[\s:,-]{0,2}(?:0x)?[0-9a-f]{2}){7,}/gi
/** Bytes as a list of numbers, as JSON has those of a buffer. */
const decimalBytes = /\d{1,3}(?:,\s*\d{1,3}){7,}/g

/** A text in which lists of bytes are replaced that contain one of these texts. */
function withoutBytesOf(starts: () => readonly string[], text: string): string {
  return text
    .replace(hexadecimalBytes, list => {
      const digits = list.replace(/0x|[^0-9a-f]/gi, '')
      const isSecret = [digits, digits.slice(1)].some(from => holdsAny(Buffer.from(from, 'hex'), starts()))
      return isSecret ? '[redacted]' : list
    })
    .replace(decimalBytes, list => {
      return holdsAny(Buffer.from(list.split(',').map(Number)), starts()) ? '[redacted]' : list
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
function base64Of(secret: string): { readonly core: string; readonly edges: Base64Edges }[] {
  const bits = Buffer.byteLength(secret) * 8
  return [0, 1, 2].flatMap(offset => {
    const encoded = Buffer.from(`${' '.repeat(offset)}${secret}`).toString('base64')
    const end = offset * 8 + bits
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(end / 6))
    if (core.length < base64CharsMin) return []
    const edges = { before: offset > 0, after: end % 6 > 0 }
    return [...new Set([core, core.replaceAll('+', '-').replaceAll('/', '_')])].map(text => ({ core: text, edges }))
  })
}

/** The part of a text in which base64 of a secret stands, with the characters at its edges, and the padding. */
function withEdges(text: string, [from, to]: TextPart, { before, after }: Base64Edges): TextPart {
  const edgeBefore = before ? /(?:%2[bf]|[\w+/-])$/i.exec(text.slice(Math.max(0, from - 3), from)) : null
  const edgeAfter = after ? /^(?:%2[bf]|[\w+/-])(?:=|%3d){0,2}/i.exec(text.slice(to, to + 9)) : null
  return [from - (edgeBefore?.[0].length ?? 0), to + (edgeAfter?.[0].length ?? 0)]
}
