import { Fault } from '../model/fault.ts'
import { httpAnswerBytesMax } from './limits.ts'

/**
 * The whole body as text, read no further than the limit.
 *
 * @throws Fault `http-unexpected` when it is longer; the stream's error
 */
export async function bodyText(body: AsyncIterable<Uint8Array>, host: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    // Leaving the loop ends the connection: the rest is never read.
    if (bytes > httpAnswerBytesMax) throw new Fault('http-unexpected', tooLong(host), { facts: { host } })
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

function tooLong(host: string): string {
  return `${host} answers more than ${httpAnswerBytesMax / 1_048_576} MiB`
}
