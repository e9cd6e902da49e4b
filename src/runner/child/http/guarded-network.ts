import { AsyncLocalStorage } from 'node:async_hooks'
import dgram from 'node:dgram'
import { Socket } from 'node:net'
import { Fault } from '../../../model/fault.ts'

/** Ends the run whose code connects past the daemon. */
type Refuse = (fault: Fault) => void

const guarded = new AsyncLocalStorage<Refuse>()
let isPrepared = false
let isOwn = false

/**
 * Runs the work of a collector without a network of its own: what it would read there is in no recording. `fetch`,
 * `WebSocket` and the modules of Node all connect by the same sockets. The run fails even if the collector catches that.
 */
export function withoutNetwork<T>(refuse: Refuse, work: () => T): T {
  if (!isPrepared) prepare()
  isPrepared = true
  return guarded.run(refuse, work)
}

/** Opens a connection of the daemon's own HTTP client, which a guarded run may use. @param connect calls Node at once */
export function connectAsOwn<T>(connect: () => T): T {
  isOwn = true
  try {
    return connect()
  } finally {
    isOwn = false
  }
}

/** Puts the guard before what every connection and datagram of this process begins with. */
function prepare(): void {
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
    const fault = refusal()
    return fault ? this.destroy(fault) : Reflect.apply(connect, this, args)
  }
  for (const name of ['send', 'connect', 'bind'] as const) {
    const before: unknown = Reflect.get(dgram.Socket.prototype, name)
    if (typeof before !== 'function') continue
    const value = function (this: unknown, ...args: unknown[]): unknown {
      const fault = refusal()
      if (fault) throw fault
      return Reflect.apply(before, this, args)
    }
    Object.defineProperty(dgram.Socket.prototype, name, { value })
  }
}

function refusal(): Fault | undefined {
  const refuse = guarded.getStore()
  if (!refuse || isOwn) return undefined
  const fault = new Fault('collector-unrecorded', 'it reads the network past the daemon, which no recording can hold', {
    fix: 'read it with http.json or http.text, which are recorded, instead of fetch or a library',
  })
  refuse(fault)
  return fault
}
