import { CallMeter } from '../../chain/endpoint/call-meter.ts'
import { callsIn } from '../../intake/backfill/cost.ts'
import { Fault } from '../../model/fault.ts'
import { grouped } from '../terminal.ts'

/**
 * Counts calls of all chains, and sends none that would pass a cap: whoever asks meets the Fault, and so is told at once.
 *
 * @param callsMax absent: no cap
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
