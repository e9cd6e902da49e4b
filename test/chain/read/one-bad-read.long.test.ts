import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { systemTime } from '../../../src/edge/time.ts'
import type { Hex } from '../../../src/model/block.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { sampleOf } from '../../support/soak.ts'
import { archiveAnswers, valueAt } from '../support/archive.ts'
import { type Behaviour, type Call, json, NodeError } from '../support/node.ts'
import { oddResults, providerErrors } from '../support/provider-errors.ts'
import { faultOf, firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const good: Hex = '0x00000000000000000000000000000000000000c0'
const bad: Hex = '0x00000000000000000000000000000000bad0bad0'
const read = (to: Hex, input: Hex): ReadRequest => ({ kind: 'call', to, input })
const goodInputs: readonly Hex[] = ['0x02', '0x03', '0x05', '0x07', '0x0b']

/** Where the bad read shows: within an aggregate it fails without data, as the EVM has it, or fails the aggregate. */
type Where = 'alone' | 'everywhere' | 'without Multicall3'

/** A node's answer to one call, besides its id; or what it does to the whole request. */
type Says = Readonly<Record<string, unknown>> | ((response: ServerResponse) => void)

/** Answers everything but what concerns the bad address. */
function except(where: Where, says: Says): Behaviour {
  const traits = where === 'without Multicall3' ? { multicallFrom: 9_999n } : { halting: bad }
  const honest = archiveAnswers(chain, traits)
  const isBad = ({ method, params }: Call) => {
    const text = JSON.stringify(params).toLowerCase()
    if (method !== 'eth_call' || !text.includes(bad.slice(2))) return false
    const isAggregate = text.includes(`"to":"${multicall3Address.toLowerCase()}"`) && !text.includes('"code":')
    return where === 'everywhere' || !isAggregate
  }
  const answered = (call: Call) => {
    if (typeof says !== 'function' && isBad(call)) return { jsonrpc: '2.0', id: call.id, ...says }
    try {
      return { jsonrpc: '2.0', id: call.id, result: honest(call.method, call.params) }
    } catch (error) {
      if (!(error instanceof NodeError)) throw error
      return { jsonrpc: '2.0', id: call.id, error: { code: error.code, message: error.message } }
    }
  }
  return (calls, response, body) => {
    if (typeof says === 'function' && calls.some(isBad)) return says(response)
    const answers = calls.map(answered)
    json(response, body.startsWith('[') ? answers : answers[0])
  }
}

/** Five good reads of several askers and a bad one, all of one hour and turn. Their own failures are values. */
async function readAll(behaviours: readonly Behaviour[], hour = firstHour) {
  const servers = await Promise.all(behaviours.map(behaviour => node(behaviour)))
  let skippedMs = 0
  const sleep = async (ms: number) => {
    skippedMs += ms
  }
  const time = { ...systemTime, nowMs: () => systemTime.nowMs() + skippedMs, sleep }
  const reader = openChain(
    servers.map(({ url }) => url),
    { time },
  )
  const ask = async (at = hour) => {
    const failing = reader.read(at, [read(good, '0x0d'), read(bad, '0x01')], patient).catch((error: unknown) => error)
    const mates = await Promise.all(goodInputs.map(input => reader.read(at, [read(good, input)], patient)))
    return { mates: mates.map(({ value }) => value[0]), failed: await failing }
  }
  return { reader, servers, ask }
}

const valuesAt = (number: bigint) => goodInputs.map(input => ({ kind: 'returned', output: valueAt(input, number) }))

/** The others have their values, in the hour and in the next, and the bad one a fault that is not about the endpoint. */
async function expectAlone(where: Where, says: Says, hours = 1): Promise<void> {
  const { reader, ask } = await readAll([except(where, says)])
  for (let count = 0; count < hours; count++) {
    const [hour, number] = [hourAfter(firstHour, count), 233n + 300n * BigInt(count)]
    const { mates, failed } = await ask(hour)
    expect(mates).toEqual(valuesAt(number))
    if (failed instanceof Error) {
      const fault = await faultOf(Promise.reject(failed))
      expect(fault.code).toBe('chain-call-failed')
      expect(fault.fix).toBeTruthy()
      expect(fault.fix).not.toMatch(/runs|reached|takes over|in sync/)
    } else expect(failed).toMatchObject({ value: [{ kind: 'returned' }, { kind: 'reverted' }] })
  }
  expect(reader.health()).toMatchObject([{ state: 'well' }])
}

const wheres: readonly Where[] = ['alone', 'everywhere', 'without Multicall3']

describe.each(wheres)('one read that fails with (%s)', where => {
  it.each(Object.entries(providerErrors))('what %s says fails alone', async (_, errors) => {
    for (const error of sampleOf(
      errors.filter(({ as }) => as !== 'rate'),
      1,
    ))
      await expectAlone(where, { error })
  })

  it.each(Object.entries(oddResults))('%s as its result fails alone', async (_, result) => {
    await expectAlone(where, { result }, 3)
  })

  it('an error that is a text, or an object without anything, fails alone', async () => {
    for (const error of ['internal error', {}, true, 7, []]) await expectAlone(where, { error })
  })

  it.each([400, 403, 404, 405, 408, 422, 500, 502, 503, 504, 522, 524])('HTTP %i fails alone', async status => {
    await expectAlone(where, response => void response.writeHead(status).end('<html>no</html>'))
  })

  it.each([
    ['a closed connection', (response: ServerResponse) => void response.destroy()],
    ['something that is not JSON', (response: ServerResponse) => void response.end('<html></html>')],
    ['an empty answer', (response: ServerResponse) => void response.end()],
    ['a list of nothing', (response: ServerResponse) => json(response, [])],
    ['something else', (response: ServerResponse) => json(response, { status: 'ok' })],
  ])('%s fails alone', async (_, says) => {
    await expectAlone(where, says)
  })
})

describe('words for the rate', () => {
  const rateErrors = [
    { code: -32005, message: 'limit exceeded' },
    { code: 15, message: 'Too many request, try again later' },
    { code: 429, message: 'Your app has exceeded its compute units per second capacity' },
    { code: -32005, message: 'daily request count exceeded, request rate limited' },
  ]

  it.each(wheres)('that are said of one call alone leave the others their values (%s)', async where => {
    for (const error of rateErrors) {
      const { reader, ask } = await readAll([except(where, { error })])
      const { mates, failed } = await ask()
      expect(mates).toEqual(valuesAt(233n))
      expect(failed).toBeInstanceOf(Error)
      expect(reader.health()).toMatchObject([{ state: 'well' }])
    }
  })
})
