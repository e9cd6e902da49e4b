import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { word } from '../../src/chain/shapes.ts'
import { codeRead } from '../chain/support/synthetic-multicall.ts'

const rpcCall = z.object({ id: z.union([z.number(), z.string()]), method: z.string(), params: z.array(z.unknown()) })
type Call = z.infer<typeof rpcCall>
type Answer = Record<string, unknown>

/** Misbehaviour of a node, or of the gateway before it. */
export type RpcFault =
  /** HTTP 429; `retryAfter` is the header as it is sent, and `date`, by default this machine's clock. */
  | { readonly kind: 'rate'; readonly retryAfter?: string | (() => string); readonly date?: string }
  /** More calls in a second than this are refused with 429, as a gateway does. */
  | { readonly kind: 'calls-a-second-max'; readonly count: number; readonly nowMs?: () => number }
  /** Each call is answered with this error. */
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly kind: 'status'; readonly status: number; readonly text?: string; readonly location?: string }
  | { readonly kind: 'html' | 'garbage' | 'hang' | 'reset' | 'null-blocks' | 'no-ids' | 'null-results' }
  /** The answer begins and goes no further. */
  | { readonly kind: 'stalls' }
  | { readonly kind: 'chain-id'; readonly id: number }
  /** It is so many blocks behind. */
  | { readonly kind: 'lagging'; readonly blocks: number }
  /** It does not have the state of blocks before this one, or before so many blocks back; `of`: as far as calls have this in them. */
  | { readonly kind: 'no-state'; readonly before: bigint; readonly message?: string; readonly of?: string }
  | { readonly kind: 'no-method'; readonly method: string }
  /** Larger batches are refused; `how`: by HTTP 413 or 400, an error in the place of the batch, one error in a batch, or no answer for the rest. */
  | { readonly kind: 'batch-max'; readonly calls: number; readonly how: '413' | '400' | 'object' | 'array' | 'missing' }
  /** Longer requests are refused with HTTP 413. */
  | { readonly kind: 'bytes-max'; readonly bytes: number }
  /** It calls contracts at its latest block, whatever block is named. */
  | { readonly kind: 'calls-latest' }
  /** It answers every balance with this one. */
  | { readonly kind: 'balance'; readonly wei: bigint }
  /** So many answers of each batch are left out. */
  | { readonly kind: 'drops'; readonly answers: number }

/** A proxy before a node: it counts what passes, and misbehaves as a test wants. */
export interface FaultyRpc {
  /** With a key in its path where one was given. */
  readonly url: string
  readonly host: string
  /** HTTP requests so far, refused ones too. */
  readonly requests: number
  /** Calls of each request so far. */
  readonly batches: readonly number[]
  /** Calls by method so far. */
  readonly calls: Readonly<Record<string, number>>
  /** Headers of the last request. */
  readonly headers: IncomingMessage['headers']
  /** Requests it has neither answered nor lost. */
  readonly open: number
  /** From now on it does these things wrong, and nothing else. */
  misbehave(...faults: readonly RpcFault[]): void
  /** The next request alone meets this. */
  misbehaveOnce(fault: RpcFault): void
  /** Resolves when it has had so many requests in all. */
  had(requests: number): Promise<void>
  /** Counts from 0 again. */
  reset(): void
  stop(): Promise<void>
}

/** @param node URL of the node behind it @param path of its URL, as a provider's with its key */
export async function startFaultyRpc(node: string, path = '/'): Promise<FaultyRpc> {
  const proxy = new FaultyProxy(node, path)
  await proxy.listen()
  return proxy
}

class FaultyProxy implements FaultyRpc {
  readonly #node: string
  readonly #path: string
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  #faults: readonly RpcFault[] = []
  #once: RpcFault[] = []
  #waiting: { readonly requests: number; resolve(): void }[] = []
  #sent: { readonly atMs: number; readonly count: number }[] = []
  host = ''
  requests = 0
  batches: number[] = []
  calls: Record<string, number> = {}
  headers: IncomingMessage['headers'] = {}
  open = 0

  constructor(node: string, path: string) {
    this.#node = node
    this.#path = path
  }

  get url(): string {
    return `http://${this.host}${this.#path}`
  }

  async listen(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    if (typeof address !== 'object' || !address) throw new Error('not listening')
    this.host = `127.0.0.1:${address.port}`
  }

  misbehave(...faults: readonly RpcFault[]): void {
    this.#faults = faults
  }

  misbehaveOnce(fault: RpcFault): void {
    this.#once.push(fault)
  }

  had(requests: number): Promise<void> {
    if (this.requests >= requests) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push({ requests, resolve }))
  }

  reset(): void {
    this.requests = 0
    this.batches = []
    this.calls = {}
  }

  stop(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open++
    response.on('close', () => {
      this.open--
    })
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    const text = Buffer.concat(chunks).toString()
    const body: unknown = JSON.parse(text)
    const calls = z.array(rpcCall).parse(Array.isArray(body) ? body : [body])
    this.headers = request.headers
    this.#count(calls)
    const faults = [...this.#once.splice(0, 1), ...this.#faults]
    for (const fault of faults) if (this.#refuses(fault, calls, text, response)) return
    const answers = await this.#answers(calls, faults).catch(() => undefined)
    if (!answers) return void response.destroy()
    respond(response, 200, JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  }

  #count(calls: readonly Call[]): void {
    this.requests++
    this.batches.push(calls.length)
    for (const { method } of calls) this.calls[method] = (this.calls[method] ?? 0) + 1
    for (const { requests, resolve } of this.#waiting) if (this.requests >= requests) resolve()
    this.#waiting = this.#waiting.filter(({ requests }) => this.requests < requests)
  }

  /** Whether the fault was the whole answer. */
  #refuses(fault: RpcFault, calls: readonly Call[], text: string, response: ServerResponse): boolean {
    switch (fault.kind) {
      case 'rate': {
        const { retryAfter, date } = fault
        const header = typeof retryAfter === 'function' ? retryAfter() : retryAfter
        const headers = { ...(date && { date }), ...(header !== undefined && { 'retry-after': header }) }
        return respond(response, 429, 'slow down', headers)
      }
      case 'calls-a-second-max':
        return this.#isTooFast(calls.length, fault.count, fault.nowMs?.() ?? Date.now()) && respond(response, 429, '')
      case 'status':
        return respond(response, fault.status, fault.text ?? '', fault.location ? { location: fault.location } : {})
      case 'html':
        return respond(response, 200, '<html><body>Welcome to nginx</body></html>', { 'content-type': 'text/html' })
      case 'garbage':
        return respond(response, 200, '{"jsonrpc":"2.0","id":1,"resu')
      case 'hang':
        return true
      case 'reset':
        response.destroy()
        return true
      case 'stalls':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        response.write('{"jsonrpc"')
        return true
      case 'bytes-max':
        return text.length > fault.bytes && respond(response, 413, '<html>Payload Too Large</html>')
      case 'batch-max':
        return calls.length > fault.calls && refuseBatch(response, fault.how, calls)
      default:
        return false
    }
  }

  #isTooFast(count: number, countMax: number, nowMs: number): boolean {
    this.#sent = this.#sent.filter(({ atMs }) => atMs > nowMs - 1000)
    const before = this.#sent.reduce((sum, one) => sum + one.count, 0)
    if (before + count > countMax) return true
    this.#sent.push({ atMs: nowMs, count })
    return false
  }

  async #answers(calls: readonly Call[], faults: readonly RpcFault[]): Promise<readonly Answer[]> {
    const lagging = faults.find(fault => fault.kind === 'lagging')
    const headNumber = lagging
      ? BigInt(String(await this.#ask('eth_blockNumber', []))) - BigInt(lagging.blocks)
      : undefined
    const isLatest = faults.some(({ kind }) => kind === 'calls-latest')
    const asked = isLatest ? calls.map(atLatest) : calls
    const upstream = headNumber === undefined ? asked : asked.map(call => behind(call, headNumber))
    const answers = await this.#forward(upstream)
    const faulty = await Promise.all(answers.map((answer, index) => this.#spoilt(answer, upstream[index], faults)))
    const dropped = faults.find(fault => fault.kind === 'drops')?.answers ?? 0
    const isMissing = faults.some(fault => fault.kind === 'batch-max' && fault.how === 'missing')
    const most = faults.find(fault => fault.kind === 'batch-max')?.calls ?? Number.POSITIVE_INFINITY
    return faulty.slice(0, Math.min(isMissing ? most : faulty.length, faulty.length - (calls.length > 1 ? dropped : 0)))
  }

  async #spoilt(answer: Answer, call: Call | undefined, faults: readonly RpcFault[]): Promise<Answer> {
    let spoilt = answer
    for (const fault of faults) spoilt = await this.#spoiltBy(fault, spoilt, call)
    return spoilt
  }

  async #spoiltBy(fault: RpcFault, answer: Answer, call: Call | undefined): Promise<Answer> {
    const { jsonrpc, id } = answer
    const method = call?.method ?? ''
    switch (fault.kind) {
      case 'error': {
        const { code, message, data } = fault
        return { jsonrpc, id, error: { code, message, data } }
      }
      case 'no-ids':
        return { ...answer, id: undefined }
      case 'null-results':
        return { jsonrpc, id, result: null }
      case 'null-blocks':
        return method.startsWith('eth_getBlockBy') ? { jsonrpc, id, result: null } : answer
      case 'chain-id':
        return method === 'eth_chainId' ? { jsonrpc, id, result: `0x${fault.id.toString(16)}` } : answer
      case 'balance':
        if (method === 'eth_getBalance') return { jsonrpc, id, result: `0x${fault.wei.toString(16)}` }
        if (method !== 'eth_call' || codeRead(call?.params ?? [])?.kind !== 'balance') return answer
        return { jsonrpc, id, result: `${String(answer['result']).slice(0, -64)}${word(fault.wei).slice(2)}` }
      case 'no-state': {
        if (fault.of !== undefined && !JSON.stringify(call).includes(fault.of)) return answer
        const number = await this.#stateBlockOf(call)
        if (number === undefined || number >= fault.before) return answer
        const message = fault.message ?? 'missing trie node 1f (path ) state 0x1f is not available, not found'
        return { jsonrpc, id, error: { code: -32000, message } }
      }
      case 'no-method':
        if (method !== fault.method) return answer
        return { jsonrpc, id, error: { code: -32_601, message: `the method ${method} does not exist` } }
      default:
        return answer
    }
  }

  /** The block whose state a call reads. */
  async #stateBlockOf(call: Call | undefined): Promise<bigint | undefined> {
    if (!call || !['eth_call', 'eth_getBalance', 'eth_getCode'].includes(call.method)) return undefined
    const at = call.params[1]
    if (typeof at === 'string') return at.startsWith('0x') ? BigInt(at) : undefined
    const { blockHash } = z.object({ blockHash: z.string() }).parse(at)
    const block = z
      .object({ number: z.string() })
      .nullable()
      .parse(await this.#ask('eth_getBlockByHash', [blockHash, false]))
    return block ? BigInt(block.number) : undefined
  }

  async #forward(calls: readonly Call[]): Promise<Answer[]> {
    const body = JSON.stringify(calls.map(({ id, method, params }) => ({ jsonrpc: '2.0', id, method, params })))
    const response = await fetch(this.#node, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return z.array(z.record(z.string(), z.unknown())).parse(await response.json())
  }

  async #ask(method: string, params: unknown[]): Promise<unknown> {
    return (await this.#forward([{ id: 1, method, params }]))[0]?.['result']
  }
}

function respond(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
  return true
}

function refuseBatch(
  response: ServerResponse,
  how: '413' | '400' | 'object' | 'array' | 'missing',
  calls: readonly Call[],
) {
  if (how === 'missing') return false
  if (how === '413' || how === '400') return respond(response, Number(how), 'Bad Request')
  const error = { code: how === 'object' ? -32600 : -32603, message: how === 'object' ? 'batch too large' : 'no' }
  const answer = { jsonrpc: '2.0', id: how === 'object' ? null : calls[0]?.id, error }
  return respond(response, 200, JSON.stringify(how === 'object' ? answer : [answer]))
}

function atLatest(call: Call): Call {
  const [first, , ...rest] = call.params
  return call.method === 'eth_call' ? { ...call, params: [first, 'latest', ...rest] } : call
}

/** The call as a node would understand it whose head is this one. */
function behind(call: Call, head: bigint): Call {
  const hex = `0x${head.toString(16)}`
  if (call.method === 'eth_blockNumber') return { ...call, method: 'eth_getBlockByNumber', params: [hex, false] }
  if (call.method !== 'eth_getBlockByNumber') return call
  const [asked, full] = call.params
  if (asked === 'latest') return { ...call, params: [hex, full] }
  // Far past any chain: it is answered with null.
  return typeof asked === 'string' && BigInt(asked) > head ? { ...call, params: ['0xffffffffffff', full] } : call
}
