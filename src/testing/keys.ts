import type { ReadRequest } from '../chain/reads.ts'
import type { LogFilter } from '../model/block.ts'
import type { RecordedHttp } from './recording.ts'

/** A text that is equal for equal reads of a chain, whatever the case of their digits and their names for people. */
export function readKey(chain: string, hoursBefore: number, request: ReadRequest): string {
  const { name: _, returns: __, ...same } = { name: undefined, returns: undefined, ...request }
  return keyOf([chain, hoursBefore, same])
}

/** The same of logs. */
export function logsKey(chain: string, hoursBefore: number, { address, topics }: LogFilter): string {
  return keyOf([chain, hoursBefore, 'logs', address, topics])
}

/** A text that is equal for equal off-chain requests. */
export function httpKey({ request, headers, body }: Omit<RecordedHttp, 'answers'>): string {
  return JSON.stringify(sorted([request, headers, body ?? null]))
}

/** A read in words. */
export function readText(chain: string, hoursBefore: number, request: ReadRequest): string {
  const at = atText(chain, hoursBefore)
  switch (request.kind) {
    case 'call':
      return `${at} ${request.name ?? `call ${request.input}`} of ${request.to}`
    case 'call-from':
      return `${at} ${request.name ?? `call ${request.input}`} of ${request.to}, from ${request.from}`
    case 'balance':
      return `${at} balance of ${request.address}`
    case 'storage':
      return `${at} storage slot ${request.slot} of ${request.address}`
  }
}

/** The same of logs. */
export function logsText(chain: string, hoursBefore: number, { address, topics }: LogFilter): string {
  return `${atText(chain, hoursBefore)} logs of ${[address].flat().join(', ')} with topics ${JSON.stringify(topics)}`
}

/** The chain, and how far back. */
export function atText(chain: string, hoursBefore: number): string {
  return `chain ${chain}${hoursBefore > 0 ? `, ${hoursBefore} hours before` : ''}:`
}

/** An off-chain request in words. */
export function httpText({ request, headers, body }: Omit<RecordedHttp, 'answers'>): string {
  const sent = body === undefined ? '' : `, body ${JSON.stringify(body).slice(0, 300)}`
  return `${request} (headers ${headers.join(', ')}${sent})`
}

function keyOf(parts: readonly unknown[]): string {
  return JSON.stringify(sorted(parts)).replace(/"0x[0-9a-fA-F]*"/g, hex => hex.toLowerCase())
}

/** The value with the names of its maps in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  )
}
