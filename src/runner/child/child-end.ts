import { Socket } from 'node:net'
import { frameReader, lineDescriptor } from '../frames.ts'
import { childMessageCharsMax } from '../limits.ts'
import type { FromChild, ToChild } from '../messages.ts'
import { childMessageCharsAimed } from './limits.ts'

/** A child's end of the connection to the daemon. Its process ends when the daemon closes it. */
export class ChildEnd {
  readonly socket = new Socket({ fd: lineDescriptor, readable: true, writable: true })

  constructor(receive: (message: ToChild) => void) {
    // Every message here was written by the daemon's own `frameOf`.
    this.socket.on(
      'data',
      frameReader(value => receive(value as ToChild)),
    )
    this.socket.on('error', () => process.exit()).on('close', () => process.exit())
  }

  post(message: FromChild): void {
    this.socket.write(`${JSON.stringify(message)}\n`)
  }

  /**
   * Sends many items in one message, or in several when it would be too long.
   *
   * @param refused called with an item that is too long alone, or cannot be written
   */
  postAll<T>(kind: string, name: string, all: readonly T[], refused: (one: T, why: string) => void): void {
    let parts: string[] = []
    let chars = 0
    const leave = () => {
      if (parts.length > 0) this.socket.write(`{"kind":"${kind}","${name}":[${parts.join(',')}]}\n`)
      parts = []
      chars = 0
    }
    for (const one of all) {
      const written = writtenOf(one)
      if (!written.ok) refused(one, written.why)
      else {
        if (chars + written.text.length > childMessageCharsAimed) leave()
        parts.push(written.text)
        chars += written.text.length
      }
    }
    leave()
  }
}

type Written = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string }

function writtenOf(value: unknown): Written {
  try {
    const text = JSON.stringify(value)
    const room = childMessageCharsMax - 100
    return text.length > room ? { ok: false, why: `it is longer than ${room} characters` } : { ok: true, text }
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : 'it cannot be written as JSON' }
  }
}
