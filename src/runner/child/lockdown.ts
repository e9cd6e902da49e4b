import { syncBuiltinESMExports } from 'node:module'
import type { Socket } from 'node:net'
import os from 'node:os'
import v8 from 'node:v8'

/**
 * Removes abilities that Node's permissions leave to a process: sending signals, starting another's debugger, changing
 * priorities, setting V8's flags (some name a file to write), opening sockets in the file system, and reading the
 * connection to the daemon. It is permanent: Node's own functions reach these through the same objects.
 *
 * @param line the connection; its kind of handle is that of all sockets in the file system
 */
export function lockDown(line: Socket): void {
  for (const name of ['kill', '_kill', '_debugProcess', '_debugEnd', '_getActiveHandles', '_getActiveRequests']) {
    close(process, name, `process.${name}`)
  }
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
