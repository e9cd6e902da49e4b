import { isRecord } from '../../model/json.ts'
import type { RpcError } from '../endpoint/wire.ts'
import { blocksIn, type LogRange } from './log-ranges.ts'

/**
 * Number of blocks that would pass, from the text of a refusal: a suggested range that starts like the requested one,
 * else the largest number below its length that is named as a limit. Only a hint, to be tried. Pure.
 *
 * @returns undefined when it names none
 */
export function suggestedBlocks(error: RpcError, range: LogRange): number | undefined {
  const texts = [error.message, textOf(error.data)]
  const ranges = [...texts.flatMap(rangesIn), ...rangeIn(error.data)]
  const named = ranges.find(([from, to]) => from === range.from && to >= from && to < range.to)
  if (named) return blocksIn({ from: named[0], to: named[1] })
  const numbers = texts.flatMap(limitsIn).filter(blocks => blocks >= 1 && blocks < blocksIn(range))
  return numbers.length > 0 ? Math.max(...numbers) : undefined
}

type Ends = readonly [from: bigint, to: bigint]

const number = '(0x[0-9a-f]{1,16}|\\d{1,18})'
const bracketed = new RegExp(`\\[\\s*"?${number}"?\\s*,\\s*"?${number}"?\\s*\\]`, 'gi')
const dashed = new RegExp(`${number}\\s*(?:-|\\.\\.|to)\\s*${number}`, 'gi')

function rangesIn(text: string): Ends[] {
  return [...text.matchAll(bracketed), ...text.matchAll(dashed)].map(([, from = '', to = '']) => [
    BigInt(from),
    BigInt(to),
  ])
}

/** A range in the error's data, as Infura and others send it. */
function rangeIn(data: unknown): Ends[] {
  if (!isRecord(data)) return []
  const [from, to] = [data['from'], data['to']].map(String)
  const isNumber = (end: string | undefined) => end !== undefined && /^(0x[0-9a-f]{1,16}|\d{1,18})$/i.test(end)
  return isNumber(from) && isNumber(to) ? [[BigInt(from ?? 0), BigInt(to ?? 0)]] : []
}

const limited =
  /(?:limit|max|up to|exceed|than|over|at most|within|distance|allow|only|between)[^\d[]{0,40}?(?:0\s*-\s*)?(\d[\d,_]*)\s*(k\b)?(?!\s*(?:logs|results|bytes|[km]?b\b))|(\d[\d,_]*)\s*(k\b)?[ -]?(?:blocks?|ranges?)\b/gi

/** Numbers named as a limit, but not of results. */
function limitsIn(text: string): number[] {
  return [...text.matchAll(limited)].map(([, first, firstK, second, secondK]) => {
    const digits = (first ?? second ?? '').replaceAll(/[,_]/g, '')
    return Number(digits) * ((firstK ?? secondK) === undefined ? 1 : 1_000)
  })
}

function textOf(data: unknown): string {
  return typeof data === 'string' ? data : JSON.stringify(data ?? '')
}
