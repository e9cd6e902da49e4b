import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { Dice } from '../../src/devchain/dice.ts'
import type { PushResult } from '../../src/model/wire.ts'

/**
 * Outcomes of a push: whether its metrics are stored all the same, and whether the client learns so. A push
 * stored without a word about it is ambiguous for the client, which has to send it again.
 */
export const judged = {
  'reset before storing': { stores: false, acknowledges: false },
  'reset after storing': { stores: true, acknowledges: false },
  'cut off in the answer': { stores: true, acknowledges: false },
  '5xx': { stores: false, acknowledges: false },
  '5xx after storing': { stores: true, acknowledges: false },
  '429': { stores: false, acknowledges: false },
  garbage: { stores: false, acknowledges: false },
  'garbage after storing': { stores: true, acknowledges: false },
  'slow drip': { stores: true, acknowledges: true },
} as const

export type Fault = keyof typeof judged

/** A whole answer in JSON. */
export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A whole, good answer, byte by byte, with a turn of the event loop between them. */
export async function slowly(response: ServerResponse, result: PushResult): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' })
  for (const byte of Buffer.from(JSON.stringify(result))) {
    response.write(Buffer.of(byte))
    await setImmediate()
  }
  response.end()
}

/** Does the bad thing, once what is stored is stored. */
export function fail(fault: Fault, response: ServerResponse, result: PushResult, dice: Dice): void {
  switch (fault) {
    case 'reset before storing':
    case 'reset after storing':
      response.socket?.resetAndDestroy()
      return
    case 'cut off in the answer': {
      const whole = JSON.stringify(result)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
      response.write(whole.slice(0, dice.whole(1, whole.length - 1)), () => response.socket?.resetAndDestroy())
      return
    }
    case '5xx':
    case '5xx after storing':
      response.writeHead(dice.roll() < 0.5 ? 500 : 503).end('<h1>Try again</h1>')
      return
    case '429':
      response.writeHead(429, { 'retry-after': retryAfter(dice, Date.now()) }).end()
      return
    default:
      response.writeHead(200).end(dice.roll() < 0.5 ? '<html>200 OK</html>' : '{"success": tru')
  }
}

/** Seconds or an HTTP date, never more than a second ahead. */
function retryAfter(dice: Dice, nowMs: number): string {
  const kind = dice.whole(0, 2)
  return kind === 2 ? new Date(nowMs + 1_000).toUTCString() : String(kind)
}
