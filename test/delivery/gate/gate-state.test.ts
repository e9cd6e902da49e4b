import { expect, it } from 'vitest'
import { stateAfter } from '../../../src/delivery/breaker.ts'
import { stopOf } from '../../../src/delivery/delivery.ts'
import type { Stop } from '../../../src/delivery/isolate/state.ts'
import { Fault } from '../../../src/model/fault.ts'

const goesOn = new AbortController().signal
const stopped = (kind: Stop['kind']): Stop => ({ kind, reason: 'words' })

it.each([
  ['a flush that went well', undefined, 'open'],
  ['a service that fails', stopped('transient'), 'unavailable'],
  ['a refused key', stopped('key-refused'), 'key-refused'],
  ['another program at the address', stopped('misdirected'), 'misdirected'],
  ['a service that rejects everything', stopped('systemic'), 'rejecting'],
  ['a process that ends', stopped('stopped'), 'open'],
  ['a key without a file', stopOf(new Fault('secret-missing', 'no key'), goesOn), 'key-missing'],
  ['a service that cannot be asked', stopOf(new Fault('service-unreachable', 'no answer'), goesOn), 'unavailable'],
] as const)('the gate after %s', (_, stop, state) => {
  expect(stateAfter(stop)).toBe(state)
})
