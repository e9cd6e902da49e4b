/**
 * A node that answers `aggregate3` from answers made before, for the benchmark, so many milliseconds away as its argument
 * says. Prints `{ url }`; a line in, `Counted` out.
 */
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { hashOf, head, timestampOf, valueAt, word } from './chain.ts'

/** Since the last line. */
export interface Counted {
  readonly requests: number
  /** Calls by their method. */
  readonly calls: Readonly<Record<string, number>>
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const distanceMs = Number(process.argv[2])
const wordChars = 64
const blockNumberSelector = '42cbb15c'
const answersByOutline = new Map<string, readonly [string, string, string]>()
let counted: { requests: number; calls: Record<string, number> } = { requests: 0, calls: {} }

/** A list of results: what comes before the block's number, between it and the timestamp, and after. No parent's hash. */
function answerOf(count: number, isCertified: boolean): readonly [string, string, string] {
  const known = answersByOutline.get(`${count}${isCertified}`)
  if (known) return known
  const places = Array.from({ length: count }, (_, index) => word(count * 32 + index * 128)).join('')
  const result = `${word(1)}${word(64)}${word(32)}`
  const certified = isCertified ? 3 : 0
  const values = Array.from({ length: count - certified }, (_, index) => result + word(valueAt(index))).join('')
  const start = `0x${word(32)}${word(count)}${places}`
  const made = isCertified
    ? ([start + result, result, `${result}${word(0)}${values}`] as const)
    : ([start, '', values] as const)
  answersByOutline.set(`${count}${isCertified}`, made)
  return made
}

function aggregate(data: string, number: number): string {
  const count = Number.parseInt(data.slice(10 + wordChars, 10 + 2 * wordChars), 16)
  const isCertified = data.startsWith(blockNumberSelector, 10 + (2 + count + 4) * wordChars)
  const [start, between, values] = answerOf(count, isCertified)
  return isCertified ? `${start}${word(number)}${between}${word(timestampOf(number))}${values}` : start + values
}

function numberOf(at: unknown): number {
  if (typeof at === 'string') return at === 'latest' ? head : Number(at)
  const { blockHash } = at as { blockHash: string }
  return Number.parseInt(blockHash.slice(3), 16)
}

function headerOf(number: number): object | null {
  if (number > head) return null
  const timestamp = `0x${timestampOf(number).toString(16)}`
  return {
    number: `0x${number.toString(16)}`,
    hash: hashOf(number),
    parentHash: hashOf(Math.max(0, number - 1)),
    timestamp,
  }
}

function resultOf({ method, params }: Call): string {
  counted.calls[method] = (counted.calls[method] ?? 0) + 1
  if (method === 'eth_chainId') return '"0x1"'
  if (method === 'eth_getBlockByNumber') return JSON.stringify(headerOf(numberOf(params[0])))
  const { data } = params[0] as { data: string }
  return `"${aggregate(data, numberOf(params[1]))}"`
}

const answer = (call: Call) => `{"jsonrpc":"2.0","id":${call.id},"result":${resultOf(call)}}`

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    counted.requests += 1
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    const text = Array.isArray(asked) ? `[${asked.map(answer).join()}]` : answer(asked)
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(text)
    }, distanceMs)
  })
})
server.keepAliveTimeout = 60_000

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})

for await (const _ of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(counted satisfies Counted)}\n`)
  counted = { requests: 0, calls: {} }
}
process.exit()
