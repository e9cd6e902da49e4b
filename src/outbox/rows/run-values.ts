import { batchMetricsMax } from '../../model/limits.ts'
import { DamageError } from '../../sqlite/damage.ts'
import { rowDigest } from './digest.ts'

/** Most metrics of a run: as many as a push carries, so that its verdict mostly changes one row. */
export const runMetricsMax = batchMetricsMax

const valueBytes = 8

/** The bytes of values as a run holds them: each a 64-bit number, little-endian. −0 is stored as 0. */
export function packValues(values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * valueBytes)
  for (let place = 0; place < values.length; place += 1) writeValue(bytes, place, values[place] ?? Number.NaN)
  return bytes
}

/**
 * Replaces one of a run's values.
 *
 * @throws RangeError when it is not a finite number: SQLite checks no bytes
 */
export function writeValue(bytes: Buffer, place: number, value: number): void {
  if (!Number.isFinite(value)) throw new RangeError(`a metric cannot have the value ${value}`)
  bytes.writeDoubleLE(value === 0 ? 0 : value, place * valueBytes)
}

/** The value at a place in a run's bytes. @throws DamageError when there is none, or no finite number: neither is stored */
export function valueAt(bytes: Buffer, place: number): number {
  checkLength(bytes, place + 1)
  return finite(bytes.readDoubleLE(place * valueBytes))
}

/**
 * The values of a run.
 *
 * @param count of its metrics. Default: as many as there are values
 * @throws DamageError as `valueAt`
 */
export function valuesOf(bytes: Buffer, count = valuesIn(bytes)): number[] {
  const view = viewOf(bytes)
  checkLength(bytes, count)
  const values: number[] = []
  for (let place = 0; place < count; place += 1) values.push(finite(view.getFloat64(place * valueBytes, true)))
  return values
}

/** A view to read many values with: a `Buffer` reads each byte by byte, and leaves garbage. */
function viewOf(bytes: Buffer): DataView {
  if (!(bytes instanceof Uint8Array) || bytes.length % valueBytes !== 0) {
    throw new DamageError('a run holds no list of values')
  }
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function checkLength({ byteLength }: Buffer, count: number): void {
  if (!(Number.isInteger(count) && count > 0 && count <= runMetricsMax)) {
    throw new DamageError(`a run has ${count} metrics`)
  }
  // Damage may make text of bytes, which has no such length.
  const areThere = count * valueBytes <= byteLength
  if (!areThere) throw new DamageError('a run has fewer values than metrics')
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new DamageError(`a stored value is ${value}`)
  return value
}

/** The bytes of some of a run's values. */
export function bytesBetween(bytes: Buffer, from: number, to: number): Buffer {
  return bytes.subarray(from * valueBytes, (to + 1) * valueBytes)
}

/** Number of values in a run's bytes. */
export function valuesIn(bytes: Uint8Array): number {
  return bytes.length / valueBytes
}

/** Sum of the digests of a run's metrics, 32 bits. After damage it shows whether the run is as it was stored. */
export function runDigest(hour: number, first: number, bytes: Buffer): number {
  const view = viewOf(bytes)
  let digest = 0
  for (let place = 0; place < valuesIn(bytes); place += 1) {
    digest = (digest + rowDigest(hour, first + place, view.getFloat64(place * valueBytes, true))) >>> 0
  }
  return digest
}

/** Whether two values have the same bits; −0 counts as 0, as it is stored. */
export function isSameValue(a: number, b: number): boolean {
  return Object.is(a === 0 ? 0 : a, b === 0 ? 0 : b)
}
