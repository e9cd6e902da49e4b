import { describe, expect, it } from 'vitest'
import { hourAfter } from '../../../src/model/hour.ts'
import { VirtualTime } from '../../support/virtual-time.ts'
import { archiveAnswers } from '../support/archive.ts'
import { answering, type Behaviour, json } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const contract = `0x${'c0'.repeat(20)}` as const
const filter = { address: contract, topics: [] }
const reads = [1, 2, 3].map(index => ({ kind: 'call', to: contract, input: `0x0${index}` }) as const)
const hours = [1, 2, 3, 4].map(count => hourAfter(firstHour, count))

/** Ways in which a busy node refuses, in words of nodes and gateways that name neither a rate nor a limit. */
const refusals = {
  'an error for each call: Monad': { code: -32603, message: 'overloaded, try again later' },
  'an error for each call: Nethermind': { code: -32017, message: 'Timeout' },
  'an error for each call: jsonrpsee': { code: -32009, message: 'Server is busy, try again later' },
  'an error for each call, each with its own words': { code: -32000, message: 'Busy or error' },
  'one error for the request: proxyd': { code: -32011, message: 'backend is over capacity' },
  'one error for the request: Shardeum': { code: -32000, message: 'Busy or error' },
}

/** A node that refuses what is above five calls a second, and counts the calls it had. */
function busy(way: string, time: VirtualTime): { readonly behaviour: Behaviour; calls: number } {
  const error = refusals[way as keyof typeof refusals]
  const honest = answering(archiveAnswers(chain, { logsIn: number => (number % 7n === 0n ? 1 : 0) }))
  let [tokens, atMs] = [5, time.nowMs()]
  const counted = {
    calls: 0,
    behaviour: (...[calls, response, body]: Parameters<Behaviour>) => {
      counted.calls += calls.length
      tokens = Math.min(5, tokens + (time.nowMs() - atMs) / 200)
      atMs = time.nowMs()
      if (error === undefined || tokens >= Math.min(5, calls.length)) {
        tokens -= calls.length
        return honest(calls, response, body)
      }
      const refused = calls.map(({ id }) => {
        const message = way.endsWith('its own words') ? `${error.message}: request ${id}` : error.message
        return { jsonrpc: '2.0', id, error: { ...error, message } }
      })
      if (way.startsWith('one')) return json(response, { ...refused[0], id: null })
      return json(response, body.startsWith('[') ? refused : refused[0])
    },
  }
  return counted
}

/** Values of the hours, calls that the node had for them, and the time they took. */
async function readHours(way: string) {
  const time = new VirtualTime(1_700_100_000_000)
  const counted = busy(way, time)
  const server = await node((...request) => counted.behaviour(...request))
  const reader = openChain([server.url], { time })
  const values = await Promise.all(
    hours.flatMap(hour => [
      reader.read(hour, reads, patient).then(({ value }) => value),
      reader.logs(hour, filter, patient).then(({ value }) => [...value].map(({ blockNumber }) => blockNumber)),
    ]),
  )
  return { values, calls: counted.calls, seconds: (time.nowMs() - 1_700_100_000_000) / 1000 }
}

describe('a node that is busy, and says so', () => {
  it.each(Object.keys(refusals))('by %s is asked more slowly, and blamed for nothing', async way => {
    const idle = await readHours('')
    const { values, calls, seconds } = await readHours(way)
    expect(values).toEqual(idle.values)
    expect(calls).toBeLessThan(idle.calls * 4)
    expect(seconds).toBeLessThan(60 + idle.calls / 2)
  })

  it('without end is named by its words after some requests', async () => {
    const time = new VirtualTime(1_700_100_000_000)
    const error = { code: -32603, message: 'overloaded, try again later' }
    const server = await node((calls, response, body) => {
      const refused = calls.map(({ id }) => ({ jsonrpc: '2.0', id, error }))
      json(response, body.startsWith('[') ? refused : refused[0])
    })
    const reader = openChain([server.url], { time })
    const fault = await faultOf(reader.read(hours[0] ?? firstHour, reads, patient))
    expect([fault.code, fault.permanence]).toEqual(['chain-unreachable', 'transient'])
    expect(fault.message).toContain('overloaded, try again later')
    expect(fault.fix).toContain('look into the log of the node')
    expect(server.requests.length).toBeLessThan(10)
  })
})
