import { z } from 'zod'
import type { Hour } from '../../../src/model/hour.ts'
import type { LookUp } from '../../chain/support/synthetic-looked-up.ts'

const answer = z.object({ result: z.object({ number: z.string(), timestamp: z.string() }) })

async function header(url: string, at: string): Promise<{ number: number; timestampSeconds: number }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: [at, false] })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result } = answer.parse(await response.json())
  return { number: Number(result.number), timestampSeconds: Number(result.timestamp) }
}

/** The usual first version: the head, then halves, one header at a time, each hour from the beginning. */
export function bisection(url: string): LookUp {
  async function one(hour: Hour): Promise<number> {
    const head = await header(url, 'latest')
    let [from, to] = [-1, head.number]
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2)
      const { timestampSeconds } = await header(url, `0x${middle.toString(16)}`)
      if (timestampSeconds * 1_000 <= hour) from = middle
      else to = middle
    }
    return from
  }
  return async hours => {
    const numbers: number[] = []
    for (const hour of hours) numbers.push(await one(hour))
    return numbers
  }
}
