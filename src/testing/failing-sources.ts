import type { ReadAnswer } from '../chain/reads.ts'
import { Fault, type FaultRecord, faultRecord } from '../model/fault.ts'
import type { ReadInterceptor } from '../runner/daemon/read-interceptor.ts'
import type { ChainReply, HttpReply } from '../runner/messages.ts'

const faulted = (fault: Fault) => ({ kind: 'faulted', fault: faultRecord(fault) }) as const
const dead = faulted(new Fault('chain-unreachable', 'the node does not answer'))
const noPrice = faulted(new Fault('price-missing', 'there is no price'))
const at = { number: 1n, hash: `0x${'00'.repeat(32)}`, timestampSeconds: 0 } as const

/** A chain that answers reads in one way, and no logs: that there are none would be an answer. */
function source(http: HttpReply, answer?: ReadAnswer | 'in part'): ReadInterceptor {
  return {
    requests: 'unsent',
    async chain(_run, { question }): Promise<ChainReply> {
      if (question.kind === 'logs' || answer === undefined) return dead
      if (question.kind === 'block') return { kind: 'block', at }
      return { kind: 'read', at, value: answer === 'in part' ? [] : question.requests.map(() => answer) }
    },
    price: async () => noPrice,
    http: async () => http,
  }
}

const refused: FaultRecord = faultRecord(new Fault('http-refused', 'the source refuses the request'))
const down: FaultRecord = faultRecord(new Fault('http-unreachable', 'the source does not answer'))

/** Sources that give no value, each in another way. */
export const failingSources: Readonly<Record<string, ReadInterceptor>> = {
  'a dead node, a dead host': source({ kind: 'faulted', fault: down }),
  'no contract, no such page': source({ kind: 'faulted', fault: refused }, { kind: 'returned', output: '0x' }),
  'a contract that refuses, an empty object': source({ kind: 'http', text: '{}' }, { kind: 'reverted', output: '0x' }),
  'a node that answers in part, a web page': source({ kind: 'http', text: '<!doctype html><html></html>' }, 'in part'),
}

const never = () => new Promise<never>(() => {})

/** Sources that never answer. */
export const silentSource: ReadInterceptor = { requests: 'unsent', chain: never, price: never, http: never }
