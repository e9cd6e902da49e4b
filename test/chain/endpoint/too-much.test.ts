import { describe, expect, it } from 'vitest'
import { readAt } from '../../../src/chain/read/read.ts'
import { ReadMemory } from '../../../src/chain/read/read-memory.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import type { Hex } from '../../../src/model/block.ts'
import { archiveAnswers, valueAt } from '../support/archive.ts'
import { countedEndpoint } from '../support/counted-endpoint.ts'
import { answering, type Behaviour, NodeError, startNode } from '../support/node.ts'
import { faultOf, firstHour, genesisSeconds, node, openReader, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const heavy: Hex = '0x00beef00'
const contract: Hex = '0x00000000000000000000000000000000000000c0'
const read = (input: Hex): ReadRequest => ({ kind: 'call', to: contract, input })
const returned = (input: Hex) => [{ kind: 'returned', output: valueAt(input, 233n) }]

/** Its gas is not enough for one of the reads, alone or with others. */
function stingy(): Behaviour {
  const honest = archiveAnswers(chain)
  return answering((method, params) => {
    if (method === 'eth_call' && JSON.stringify(params).includes(heavy.slice(2)))
      throw new NodeError(-32000, 'out of gas')
    return honest(method, params)
  })
}

const generous = answering(archiveAnswers(chain))

/** The heavy read and a light one of the same hour, asked together. */
async function bothOf(urls: readonly string[]) {
  const passedOver: string[] = []
  const reader = openReader(urls, { passedOver: (host, reason) => void passedOver.push(`${host} ${reason}`) })
  const light = reader.read(firstHour, [read('0x02')], patient)
  const outcome = reader.read(firstHour, [read(heavy)], patient).catch((error: unknown) => error)
  return { light: await light, heavy: await outcome, reader, passedOver }
}

describe('a single read that is too much for an endpoint', () => {
  it('is asked of the next, and that is reported', async () => {
    const [first, second] = [await node(stingy()), await node(generous)]
    const outcome = await bothOf([first.url, second.url])
    expect(outcome.light).toEqual(returned('0x02'))
    expect(outcome.heavy).toEqual(returned(heavy))
    expect(second.requests.flat()).toEqual(['eth_chainId', 'eth_call'])
    expect(outcome.passedOver).toEqual([`${first.host} answered an error: out of gas (-32000)`])
  })

  it('that is so for all of them fails alone, and the advice is about the read', async () => {
    const servers = [await node(stingy()), await node(stingy())]
    for (const some of [servers, servers.slice(1)]) {
      const { light, heavy: failed } = await bothOf(some.map(({ url }) => url))
      expect(light).toEqual(returned('0x02'))
      const fault = await faultOf(Promise.reject(failed))
      expect(fault.fix).toMatch(/read less at once/)
      expect(fault.fix).not.toMatch(/second endpoint|takes over|reached/)
      for (const { host } of some) expect(fault.message).toContain(`${host} answered an error: out of gas`)
    }
  })

  it('fails alone also where the others cannot be asked, and tells of them too', async () => {
    const [first, dead] = [await node(stingy()), await startNode(generous)]
    await dead.stop()
    const { light, heavy: failed } = await bothOf([first.url, dead.url])
    expect(light).toEqual(returned('0x02'))
    const fault = await faultOf(Promise.reject(failed))
    expect(fault.message).toMatch(/no endpoint of ethereum could be read: .*out of gas.*; .*ECONNREFUSED/)
  })

  it('leaves the others that are read with it their answers', async () => {
    const answers = archiveAnswers(chain)
    const endpoint = countedEndpoint((method, params) => {
      if (JSON.stringify(params).includes(heavy.slice(2))) throw new NodeError(-32000, 'out of gas')
      return answers(method, params)
    })
    const block = { number: 233n, hash: chain.header(233n)?.hash ?? '0x', timestampSeconds: genesisSeconds + 12 * 233 }
    const outcomes = await readAt(endpoint, block, [read('0x02'), read(heavy)], patient, new ReadMemory(1))
    expect(outcomes).toMatchObject([...returned('0x02'), { kind: 'too-much', host: 'node.test' }])
  })
})
