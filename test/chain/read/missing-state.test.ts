import { describe, expect, it } from 'vitest'
import { systemTime } from '../../../src/edge/time.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { archiveAnswers, valueAt } from '../support/archive.ts'
import { answering, type Behaviour, json, NodeError } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

/** Every 12 s; the last hour ends 100 blocks before the head. */
const chain = scriptedChain(20_133, number => genesisSeconds + 12 * number)
const [oldHour, newHour] = [hourAfter(firstHour, 3), hourAfter(firstHour, 66)]
const newNumber = 20_033n
const honest = archiveAnswers(chain)
const contract = `0x${'c0'.repeat(20)}` as const
const call = { kind: 'call', to: contract, input: '0x0b' } as const
const filter = { address: contract, topics: [] }

/** Whether a call needs a part of a block that is older than the last 128. */
function isOld(method: string, params: readonly unknown[]): boolean {
  const [filter, at] = params as [Record<string, string>, unknown]
  if (method === 'eth_getLogs') return isBefore(filter['fromBlock'])
  if (!['eth_call', 'eth_getBalance', 'eth_getCode'].includes(method)) return false
  if (typeof at !== 'object') return isBefore(at)
  const hash = (at as { blockHash: string }).blockHash
  return BigInt(`0x${hash.slice(3)}`) - 1n < chain.head - 128n
}

function isBefore(at: unknown): boolean {
  return at !== 'latest' && BigInt(String(at)) < chain.head - 128n
}

/** A node that answers calls at old blocks in its own way. */
function withoutArchive(refuse: (method: string) => unknown): Behaviour {
  return answering((method, params) => (isOld(method, params) ? refuse(method) : honest(method, params)))
}

/** A proxy that refuses a whole request for one of its calls. */
function refusingWhole(status: number): Behaviour {
  const pass = answering(honest)
  return (calls, response, body) => {
    if (!calls.some(({ method, params }) => isOld(method, params))) return pass(calls, response, body)
    response.writeHead(status, { 'content-type': 'text/plain' })
    response.end('slow down')
  }
}

const refusing = (code: number, message: string) =>
  withoutArchive(() => {
    throw new NodeError(code, message)
  })

/** Opens a reader whose clock stands: a wait never ends. */
async function readerOf(behaviour: Behaviour) {
  const server = await node(behaviour)
  const nowMs = (genesisSeconds + 12 * Number(chain.head)) * 1_000
  const time = { ...systemTime, nowMs: () => nowMs, sleep: () => new Promise<void>(() => {}) }
  return { server, reader: openChain([server.url], { time }) }
}

describe('a node that words missing state as a rate limit', () => {
  it.for([
    ['an error', refusing(-32005, 'daily request count exceeded, request rate limited')],
    ['the code of a gateway', refusing(429, 'archive requests need the growth plan')],
    ['words about a quota', refusing(-32000, 'quota for historical calls reached')],
    ['HTTP 429', refusingWhole(429)],
  ] as const)('lacks it, and recent hours are read without a wait: %s', async ([, behaviour]) => {
    const { server, reader } = await readerOf(behaviour)
    await reader.block(newHour, patient)
    const old = () => faultOf(reader.read(oldHour, [call], patient))
    const [fault, { value }] = await Promise.all([old(), reader.read(newHour, [call], patient)])
    expect(fault.code).toBe('chain-state-missing')
    expect(fault.message).toContain('though of its last block')
    expect(value).toEqual([{ kind: 'returned', output: valueAt(call.input, newNumber) }])
    const [health] = reader.health()
    expect(health).toMatchObject({ state: 'well', trouble: 'pruned' })
    expect(health).not.toHaveProperty('callsPerSecondMax')
    const asked = server.requests.length
    expect((await old()).code).toBe('chain-state-missing')
    // It is known by now: nothing is asked to find it out once more.
    expect(server.requests.length - asked).toBeLessThanOrEqual(6)
  })

  it('lacks the logs of an old hour, too', async () => {
    const { reader } = await readerOf(refusing(-32005, 'request rate limited'))
    await reader.block(newHour, patient)
    const [fault, { value }] = await Promise.all([
      faultOf(reader.logs(oldHour, filter, patient)),
      reader.read(newHour, [call], patient),
    ])
    expect(fault.code).toBe('chain-state-missing')
    expect(value).toHaveLength(1)
  })

  it('is another one than a node that is asked too often', async () => {
    let isFull = false
    const server = await node((calls, response, body) => {
      if (isFull) return json(response, { jsonrpc: '2.0', id: 1, error: { code: 429, message: 'rate limit' } })
      return answering(honest)(calls, response, body)
    })
    const reader = openChain([server.url], { time: new VirtualTime(genesisSeconds * 1_000 + 250_000_000) })
    await reader.block(oldHour, patient)
    await reader.block(newHour, patient)
    isFull = true
    const fault = await faultOf(reader.read(oldHour, [call], patient))
    expect([fault.code, fault.fix]).toEqual(['chain-unreachable', expect.stringContaining('set rate:')])
  })
})

describe('a node that answers nothing, or a revert, for missing state', () => {
  const reverting = (data?: string) => () => {
    throw new NodeError(3, 'execution reverted', data)
  }
  const refusals: readonly (readonly [by: string, refuse: () => unknown])[] = [
    ['nothing', () => '0x'],
    ['a revert', reverting()],
    ['a revert with data', reverting('0x')],
  ]

  it.for(refusals)('lacks it, and no contract is blamed: %s', async ([, refuse]) => {
    const answers = answering((method, params) => {
      if (!isOld(method, params)) return honest(method, params)
      return method === 'eth_getLogs' ? [] : method === 'eth_getBalance' ? '0x0' : refuse()
    })
    for (const known of [[], [newHour]]) {
      const { reader } = await readerOf(answers)
      await reader.block(newHour, patient)
      for (const hour of known) await reader.read(hour, [call], patient)
      const slot = { kind: 'storage', address: contract, slot: `0x${'0'.repeat(64)}` } as const
      for (const requests of [[call], [call, { ...call, input: '0x0d' } as const], [slot]]) {
        const fault = await faultOf(reader.read(oldHour, requests, patient))
        expect(fault.code).toBe('chain-state-missing')
      }
      const { value } = await reader.read(newHour, [call], patient)
      expect(value).toEqual([{ kind: 'returned', output: valueAt(call.input, newNumber) }])
    }
  })

  it('is not blamed for a contract that is not there: the logs say so', async () => {
    const codeless = (isOldOnly: boolean) =>
      answering((method, params) => {
        if (method === 'eth_getLogs') return []
        if (isOldOnly && isOld(method, params)) return '0x'
        return (isOldOnly ? honest : archiveAnswers(chain, { codeOf: () => '0x' }))(method, params)
      })
    const codes = []
    for (const isOldOnly of [true, false]) {
      const { reader } = await readerOf(codeless(isOldOnly))
      await reader.block(newHour, patient)
      codes.push((await faultOf(reader.logs(oldHour, filter, patient))).code)
    }
    expect(codes).toEqual(['chain-state-missing', 'chain-call-undecodable'])
  })

  it('is another one than a chain without Multicall3 whose contract answers nothing', async () => {
    const sparse = archiveAnswers(chain, { multicallFrom: 30_000n, runsCode: [] })
    const server = await node(
      answering((method, params) => {
        const [{ to }] = [...params, {}] as [{ to?: string }]
        return method === 'eth_call' && to === contract ? '0x' : sparse(method, params)
      }),
    )
    const { value } = await openChain([server.url]).read(oldHour, [call], patient)
    expect(value).toEqual([{ kind: 'returned', output: '0x' }])
  })
})
