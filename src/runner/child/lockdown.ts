import { AsyncLocalStorage } from 'node:async_hooks'
import dgram from 'node:dgram'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import os from 'node:os'
import v8 from 'node:v8'
import { Fault } from '../../model/fault.ts'

/**
 * Removes abilities that Node's permissions leave to a process: sending signals, starting another's debugger, changing
 * priorities, reports that name addresses of memory, setting V8's flags (some name a file to write), opening sockets in the file system, and reading the
 * connection to the daemon. It is permanent: Node's own functions reach these through the same objects.
 *
 * @param line the connection; its kind of handle is that of all sockets in the file system
 */
export function lockDown(line: Socket): void {
  for (const name of ['kill', '_kill', '_debugProcess', '_debugEnd', '_getActiveHandles', '_getActiveRequests']) {
    close(process, name, `process.${name}`)
  }
  close(process, 'report', 'process.report')
  close(os, 'setPriority', 'os.setPriority')
  close(v8, 'setFlagsFromString', 'v8.setFlagsFromString')
  const handle: unknown = Reflect.get(line, '_handle')
  const pipes: unknown = typeof handle === 'object' && handle !== null ? Reflect.getPrototypeOf(handle) : undefined
  if (typeof pipes === 'object' && pipes !== null) {
    for (const name of ['bind', 'connect', 'listen', 'fchmod']) close(pipes, name, 'a socket in the file system')
  }
  syncBuiltinESMExports()
}

function close(owner: object, name: string, what: string): void {
  const value = () => {
    throw new Error(`${what} is not for collectors`)
  }
  Object.defineProperty(owner, name, { value, writable: false, configurable: false, enumerable: true })
}

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
    const originalMethod: unknown = Reflect.get(dgram.Socket.prototype, name)
    if (typeof originalMethod !== 'function') continue
    const value = function (this: unknown, ...args: unknown[]): unknown {
      const fault = refusal()
      if (fault) throw fault
      return Reflect.apply(originalMethod, this, args)
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
