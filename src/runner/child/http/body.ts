import { unpackedBody } from '../../../edge/unpacked-body.ts'
import { Fault } from '../../../model/fault.ts'
import { httpAnswerBytesMax } from './limits.ts'

/** Content headers of an answer. */
export interface BodyKind {
  /** As in the header; `undefined` when the body is not compressed. */
  readonly contentEncoding: string | undefined
  /** As in the header; `undefined` when there is none. */
  readonly contentType: string | undefined
}

/**
 * Reads the body as text up to the limit, decompressed and without a byte order mark.
 *
 * @throws Fault `http-unexpected` when it is longer, compressed in an unknown way or not text; the stream's error
 */
export async function bodyText(body: AsyncIterable<Uint8Array>, kind: BodyKind, host: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    // Leaving the loop closes the connection: the rest is never read.
    if (bytes > httpAnswerBytesMax) throw tooLong(host)
    chunks.push(chunk)
  }
  return decoded(await unpacked(Buffer.concat(chunks), kind, host), kind, host)
}

async function unpacked(bytes: Buffer, { contentEncoding }: BodyKind, host: string): Promise<Buffer> {
  const unpacked = await unpackedBody(bytes, contentEncoding, httpAnswerBytesMax)
  if (unpacked === 'too-long') throw tooLong(host)
  if (unpacked === 'unknown-encoding') throw unexpected(host, 'answers in a content encoding that is not known here')
  if (unpacked === 'damaged') throw unexpected(host, `answers something that is not ${contentEncoding}, as it says`)
  return unpacked
}

/** Decodes bytes: JSON is UTF-8, other texts have the charset they declare. */
function decoded(bytes: Buffer, { contentType }: BodyKind, host: string): string {
  const declared = /;\s*charset="?([\w.:-]+)/i.exec(contentType ?? '')?.[1]
  const text = decodedAs(markedCharset(bytes) ?? 'utf-8', bytes) ?? (declared && decodedAs(declared, bytes))
  if (text === undefined) throw unexpected(host, 'answers something that is not UTF-8 text')
  // Some sources add a byte order mark to a text that has one.
  return text.replace(/^\uFEFF+/, '')
}

function markedCharset([first, second]: Buffer): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

function decodedAs(charset: string, bytes: Buffer): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function tooLong(host: string): Fault {
  return unexpected(host, `answers more than ${httpAnswerBytesMax / 1_048_576} MiB`)
}

function unexpected(host: string, what: string): Fault {
  return new Fault('http-unexpected', `${host} ${what}`, { facts: { host } })
}
