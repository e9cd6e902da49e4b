/**
 * Removes `100 Continue` before an answer. A client must accept one that it did not ask for, and some servers and proxies
 * send it; undici breaks the connection off. It holds for all clients of the process that imports this.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** Longest head of an interim answer that is waited for, in bytes. */
const headBytesMax = 8_192

subscribe('undici:client:connected', message => acceptContinue((message as { socket: Socket }).socket))

/** Takes interim heads from the start of what is read: undici reads a socket by this method alone. */
function acceptContinue(socket: Socket): void {
  const readSocket = socket.read.bind(socket)
  let prefix = Buffer.alloc(0)
  socket.read = (size?: number) => {
    const chunk: unknown = readSocket(size)
    if (!Buffer.isBuffer(chunk) || (prefix.length === 0 && !isContinue(chunk))) return chunk
    let bytes = Buffer.concat([prefix, chunk])
    prefix = Buffer.alloc(0)
    while (isContinue(bytes)) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0 && bytes.length < headBytesMax) prefix = bytes
      bytes = end < 0 ? bytes.subarray(prefix.length) : bytes.subarray(end + 4)
      if (end < 0) break
    }
    return bytes.length > 0 ? bytes : socket.read(size)
  }
}

function isContinue(bytes: Buffer): boolean {
  return /^HTTP\/1\.[01] 100[ \r]/.test(bytes.toString('latin1', 0, 13))
}
