import { answersOf, type Endpoint } from '../../../src/chain/endpoint/endpoint.ts'
import { EndpointFailure } from '../../../src/chain/endpoint/failures.ts'
import { LogSpans } from '../../../src/chain/endpoint/learnt.ts'
import type { RpcCall, RpcOutcome } from '../../../src/chain/endpoint/rpc.ts'
import { systemTime } from '../../../src/edge/time.ts'
import { peerText } from '../../../src/model/text.ts'
import type { Answers } from './archive.ts'
import { NodeError } from './node.ts'

/** An endpoint without a wire, whose calls are counted. */
export interface CountedEndpoint extends Endpoint {
  readonly calls: RpcCall[]
  /** In how many turns of the event loop something was asked. */
  readonly turns: number
  /** Calls of a method so far. */
  count(method: string): number
}

/** @param answer throws a NodeError for an error answer, an EndpointFailure where there is none */
export function countedEndpoint(answer: Answers): CountedEndpoint {
  const calls: RpcCall[] = []
  let [turns, isOpen] = [0, false]

  function answered({ method, params }: RpcCall): RpcOutcome {
    try {
      return { kind: 'result', result: answer(method, params) }
    } catch (error) {
      if (error instanceof EndpointFailure) return error
      if (!(error instanceof NodeError)) throw error
      return { kind: 'error', error: { code: error.code, message: peerText(error.message), data: error.data } }
    }
  }

  const tryCall: Endpoint['tryCall'] = async (asked, signal) => {
    signal.throwIfAborted()
    if (!isOpen) {
      turns += 1
      isOpen = true
      setImmediate(() => {
        isOpen = false
      })
    }
    calls.push(...asked)
    // Answers come in a later turn, as from a wire.
    await new Promise<void>(resolve => setImmediate(resolve))
    return asked.map(answered)
  }

  return {
    host: 'node.test',
    node: {},
    calls,
    logs: new LogSpans(systemTime),
    callApart: tryCall,
    get turns() {
      return turns
    },
    count: sought => calls.filter(({ method }) => method === sought).length,
    tryCall,
    call: async (asked, signal) => answersOf(await tryCall(asked, signal)),
    failure: ({ message, code }) =>
      new EndpointFailure('node.test', `answered an error: ${message} (${code})`, 'refused'),
    close: () => {},
  }
}
