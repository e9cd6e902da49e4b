import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { Dice } from '../../src/devchain/dice.ts'
import { systemTime } from '../../src/edge/time.ts'
import { jsonOf } from '../../src/model/json.ts'
import { listening } from '../support/listening.ts'

/** Pieces whose repetition is hard for patterns: they begin what a pattern looks for, and never end it. */
const pieces = [
  'a.',
  '<title',
  '((',
  '0x',
  '1e',
  ' ',
  '\n',
  'https://',
  '{"',
  '%3A',
  'ey.J',
  '-_',
  '99999',
  '\u202e',
  '…',
  '[redacted]',
  'a',
] as const

const bombed = gzipSync(Buffer.alloc(64 * 1_048_576, 0x20))

/** Gives one of some, by the dice. */
export function picker({ whole }: Dice): <T>(all: readonly T[]) => T {
  return all => {
    const place = whole(0, all.length - 1)
    const [picked] = all.slice(place, place + 1)
    if (picked === undefined) throw new Error('there is nothing to pick from')
    return picked
  }
}

/** A text of one of the pieces, up to some hundred thousand characters. */
function badText(dice: Dice): string {
  const piece = picker(dice)(pieces)
  return piece.repeat(Math.ceil(dice.whole(1, 400_000) / piece.length))
}

/** JSON in a form that asks too much of who reads it, with a text where a person would look for words. */
function badJson(dice: Dice, ids: readonly unknown[]): string {
  const { whole } = dice
  const pick = picker(dice)
  const message = badText(dice)
  const reply = (id: unknown): object =>
    pick<() => object>([
      () => ({
        jsonrpc: '2.0',
        id,
        error: { code: pick([-32000, -32005, 3, 1e99]), message, data: message.slice(0, 9_999) },
      }),
      () => ({ jsonrpc: '2.0', id, result: message }),
      () => ({ jsonrpc: '2.0', id, result: { number: '0xff', timestamp: message, hash: message } }),
      () => ({
        jsonrpc: '2.0',
        id,
        result: Array.from({ length: 20_000 }, () => ({ address: message.slice(0, 40), topics: [] })),
      }),
    ])()
  return pick([
    () => JSON.stringify(ids.length === 1 ? reply(ids[0]) : ids.map(reply)),
    () => '['.repeat(whole(1, 400_000)),
    () => '{"a":'.repeat(whole(1, 100_000)),
    () => `[${'{},'.repeat(whole(1, 400_000))}{}]`,
    () => `{${Array.from({ length: 50_000 }, (_, key) => `"k${key}":${key}`).join()}}`,
    () =>
      JSON.stringify({
        success: false,
        processed: 1e308,
        errors: Array(5_000).fill({ id: 'pool___Level', error: message.slice(0, 2_000) }),
        warnings: [message],
      }),
    () =>
      JSON.stringify({
        success: true,
        processed: 0,
        errors: [],
        warnings: Array.from({ length: 50_000 }, (_, number) => `${number} ${number}`),
      }),
    () => `{"value":${'9'.repeat(whole(1, 400_000))}}`,
    () => message,
  ])()
}

/** Answers as a server that means harm does: by size, depth, number, time and patterns. */
export class BadServer {
  answered = 0
  readonly #dice: Dice
  readonly #stopping = new AbortController()

  private constructor(dice: Dice) {
    this.#dice = dice
  }

  /** It ends with the test. */
  static async start(dice: Dice): Promise<BadServer & { readonly url: string }> {
    const server = new BadServer(dice)
    const url = await listening(
      (request, response) => void server.#answer(request, response).catch(() => response.destroy()),
    )
    return Object.assign(server, { url })
  }

  stop(): void {
    this.#stopping.abort(new Error('over'))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await text(request)
    this.answered += 1
    response.on('error', () => {})
    const { whole } = this.#dice
    const pick = picker(this.#dice)
    const body = badJson(this.#dice, idsOf(asked))
    const type = { 'content-type': pick(['application/json', 'text/html', 'application/json; charset=utf-16']) }
    const status = pick([200, 200, 200, 400, 401, 404, 429, 500, 503])
    return pick<() => void | Promise<void>>([
      () => void response.writeHead(status, type).end(body),
      () =>
        void response
          .writeHead(429, {
            'retry-after': pick([
              '1e99',
              '-1',
              badText(this.#dice)
                .slice(0, 5_000)
                .replace(/[^ -~]/g, ''),
            ]),
          })
          .end(body),
      () => void response.writeHead(200, { ...type, 'content-encoding': 'gzip' }).end(bombed),
      () => void response.writeHead(307, { location: request.url ?? '/' }).end(body),
      () => this.#endless(response, ' '.repeat(65_536), 1),
      () => this.#endless(response, body.slice(0, whole(1, 9)), 50),
      () =>
        void response
          .writeHead(200, { 'content-length': body.length + 1 })
          .write(body, () => response.socket?.resetAndDestroy()),
    ])()
  }

  /** The same piece again and again, until who reads it has enough. */
  async #endless(response: ServerResponse, piece: string, everyMs: number): Promise<void> {
    response.writeHead(200, { 'content-type': 'application/json' })
    while (!response.destroyed) {
      response.write(piece)
      await systemTime.sleep(everyMs, this.#stopping.signal)
    }
  }
}

/** The ids of the calls of JSON-RPC in a request. */
function idsOf(asked: string): readonly unknown[] {
  try {
    const calls = jsonOf(asked) as { readonly id?: unknown } | readonly { readonly id?: unknown }[]
    return Array.isArray(calls) ? calls.map(({ id }) => id) : [(calls as { readonly id?: unknown }).id]
  } catch {
    return [1]
  }
}
