import type { ChainMoment } from '../../collector.ts'
import { Fault } from '../../model/fault.ts'
import { firstChars } from '../../model/text.ts'
import { hoursBeforeMax } from '../limits.ts'

/**
 * Whole hours before the run's hour that a chain is read as of.
 *
 * @throws Fault for any other value, and for unknown options: if ignored, a past value would be the present one
 */
export function hoursBeforeIn({ hoursBefore = 0, ...others }: ChainMoment = {}): number {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw wrong(`has no option ${firstChars(unknown, 40)}`, 'its option is hoursBefore')
  if (Number.isInteger(hoursBefore) && hoursBefore >= 0 && hoursBefore <= hoursBeforeMax) return hoursBefore
  const found = typeof hoursBefore === 'number' ? `not ${hoursBefore}` : `not ${typeof hoursBefore}`
  throw wrong(`reads whole hours before its own: ${found}`, `write a whole number from 0 to ${hoursBeforeMax}`)
}

function wrong(what: string, fix: string): Fault {
  return new Fault('collector-threw', `chain(name, { hoursBefore }) ${what}`, { fix })
}
