import { connect } from 'node:net'
import { networkWords } from '../../edge/network-reason.ts'
import { EndpointFailure, hostOf } from './endpoint-failure.ts'
import { jsonTexts } from './json-texts.ts'
import { chainAnswerBytesMax, connectMsMax } from './limits.ts'
import { type OwnHeaders, ownHeaders, withoutValues } from './own-headers.ts'
import type { Dial } from './socket-wire.ts'

/**
 * Connects to a `ws://` or `wss://` URL. The events of a failed WebSocket carry no reason. Closing ends the TCP socket:
 * a closing handshake would wait for the node, and a frozen one never answers.
 */
export function webSocketDial(url: string, own: OwnHeaders = () => ({})): Dial {
  const host = hostOf(url)
  return async ({ text, closed }, end) => {
    const { Agent, WebSocket } = await import('undici')
    end.throwIfAborted()
    return new Promise((resolve, reject) => {
      const headers = ownHeaders(host, own)
      const dispatcher = new Agent({
        connect: { timeout: connectMsMax, signal: end },
        webSocket: { maxPayloadSize: chainAnswerBytesMax },
      })
      const socket = new WebSocket(url, { dispatcher, headers })
      socket.addEventListener('open', () => resolve({ send: message => socket.send(message) }))
      socket.addEventListener('message', ({ data }) => text(withoutValues(String(data), headers)))
      socket.addEventListener('error', () => {})
      socket.addEventListener('close', ({ code }) => {
        void dispatcher.destroy().catch(() => {})
        reject(new EndpointFailure(host, 'does not answer as a WebSocket'))
        closed(`closed the connection (${code})`)
      })
    })
  }
}

/** Connects to a node's IPC socket by its path. */
export function ipcDial(path: string): Dial {
  const name = hostOf(path)
  return ({ text, closed }, end) =>
    new Promise((resolve, reject) => {
      const socket = connect({ path, signal: end })
      const framing = jsonTexts()
      let reason = 'closed the connection'
      socket.setEncoding('utf8')
      socket.on('connect', () => {
        resolve({ send: message => socket.write(`${message}\n`) })
      })
      let pendingChars = 0
      socket.on('data', chunk => {
        const messages = framing.push(String(chunk))
        pendingChars = messages.length > 0 ? 0 : pendingChars + String(chunk).length
        for (const message of messages) text(message)
        if (pendingChars <= chainAnswerBytesMax) return
        reason = 'answered too much'
        socket.destroy()
      })
      socket.on('error', (error: NodeJS.ErrnoException) => {
        reason = `does not answer: ${error.code === undefined ? 'no reason given' : networkWords(error.code)}`
      })
      socket.on('close', () => {
        reject(new EndpointFailure(name, reason))
        closed(reason)
      })
    })
}
