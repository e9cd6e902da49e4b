import { decodeAbiParameters, parseAbiParameters } from 'viem/utils'
import type { RecordedRead } from '../../testing/recording.ts'

/**
 * The answer of a read by the ABI that its collector used: `12`, or `supply 12, isPaused false`. Undefined for a revert, for
 * what no ABI describes, and for bytes that do not fit it.
 */
export function decodedText(recorded: RecordedRead): string | undefined {
  if ('logs' in recorded || recorded.returned === undefined) return undefined
  const { read, returned, number } = recorded
  if (read.kind === 'balance') return number
  if (read.kind === 'storage' || !read.returns) return undefined
  try {
    const outputs = parseAbiParameters(read.returns)
    const values = decodeAbiParameters(outputs, returned)
    if (outputs.length === 1) return textOf(values[0])
    return outputs.map(({ name }, place) => `${name ? `${name} ` : ''}${textOf(values[place])}`).join(', ')
  } catch {
    return undefined
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.startsWith('0x') ? value : JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`
  return `(${Object.entries(value)
    .map(([name, part]) => `${name} ${textOf(part)}`)
    .join(', ')})`
}
