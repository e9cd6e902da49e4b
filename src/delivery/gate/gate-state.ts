import type { DeliveryState } from '../../telemetry/counters.ts'
import type { Stop } from './stop.ts'

/** States by the reason why a flush ended early. */
const stateByStop: Readonly<Record<Stop['kind'], DeliveryState>> = {
  transient: 'unavailable',
  'key-refused': 'key-refused',
  misdirected: 'misdirected',
  systemic: 'rejecting',
  stopped: 'open',
}

/** The state of a gate after a flush. @param stop why it ended early; absent when it did not */
export function stateAfter(stop: Stop | undefined): DeliveryState {
  if (!stop) return 'open'
  return stop.isKeyMissing ? 'key-missing' : stateByStop[stop.kind]
}
