import { CallMeter } from '../../chain/endpoint/call-meter.ts'
import { type CallBudget, firstHourCalls } from '../../intake/backfill/backfill.ts'
import { Fault } from '../../model/fault.ts'
import { grouped } from '../terminal.ts'
import { callsIn } from './cost.ts'

/**
 * Counts the calls of all chains and refuses those above a limit with a Fault.
 *
 * @param callsMax absent: no limit
 */
export function cappedMeter(callsMax: number | undefined, reached: (fault: Fault) => void): CallMeter {
  const meter: CallMeter = new CallMeter(calls => {
    if (callsMax === undefined || callsIn(meter.counts()) + calls <= callsMax) return
    const fault = new Fault('stopped', `more than ${grouped(callsMax)} RPC calls would be needed, as --max-calls says`)
    reached(fault)
    throw fault
  })
  return meter
}

/**
 * The call budget of a backfill, counted by a meter; `undefined` without a limit.
 *
 * @throws Fault `usage` when not even one hour fits
 */
export function budgetOf(callsMax: number | undefined, meter: CallMeter, chains: number): CallBudget | undefined {
  if (callsMax === undefined) return undefined
  const one = firstHourCalls({ chains })
  if (callsMax >= one) return { callsMax, chains, spent: () => callsIn(meter.counts()) }
  throw new Fault('usage', `--max-calls ${callsMax} is too few: one hour takes about ${one} RPC calls`, {
    fix: `allow at least ${one}`,
  })
}
