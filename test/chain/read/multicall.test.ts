import fc from 'fast-check'
import { decodeFunctionResult, encodeFunctionData, encodeFunctionResult, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { aggregated, aggregateInput } from '../../../src/chain/read/read.ts'
import { multicall3Address } from '../../../src/chain/read/read-memory.ts'
import type { JoinableRead } from '../../../src/chain/reads.ts'
import { word } from '../../../src/chain/shapes.ts'
import type { Hex } from '../../../src/model/block.ts'

/** As multicall3.com has it. */
const abi = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) view returns (Result[] results)',
  'function getBlockNumber() view returns (uint256)',
  'function getCurrentBlockTimestamp() view returns (uint256)',
  'function getLastBlockHash() view returns (bytes32)',
  'function getEthBalance(address) view returns (uint256)',
])

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const bytes = fc.uint8Array({ maxLength: 100 }).map(hexOf)
const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(hexOf)
const request: fc.Arbitrary<JoinableRead> = fc.oneof(
  fc.record({ kind: fc.constant('call' as const), to: address, input: bytes }),
  fc.record({ kind: fc.constant('balance' as const), address }),
)
const result = fc.record({ success: fc.boolean(), returnData: bytes })
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })

function asViem(requests: readonly JoinableRead[]): Hex {
  const ofMulticall = (callData: Hex) => ({ target: multicall3Address, allowFailure: true, callData })
  const calls = requests.map(read =>
    read.kind === 'call'
      ? { target: read.to, allowFailure: true, callData: read.input }
      : ofMulticall(encodeFunctionData({ abi, functionName: 'getEthBalance', args: [read.address] })),
  )
  const certificate = (['getBlockNumber', 'getCurrentBlockTimestamp', 'getLastBlockHash'] as const).map(functionName =>
    ofMulticall(encodeFunctionData({ abi, functionName })),
  )
  return encodeFunctionData({ abi, functionName: 'aggregate3', args: [[...certificate, ...calls]] })
}

const parent = 0xabcdn << 240n

interface Result {
  readonly success: boolean
  readonly returnData: Hex
}

function answerOf(number: bigint, timestamp: bigint, results: readonly Result[], last = parent): Hex {
  const certificate = [number, timestamp, last].map(value => ({ success: true, returnData: word(value) }))
  return encodeFunctionResult({ abi, functionName: 'aggregate3', result: [...certificate, ...results] })
}

describe('an aggregate', () => {
  it('is byte for byte what viem writes', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), requests => {
        expect(aggregateInput(requests)).toBe(asViem(requests))
      }),
    )
    const thousand = fc.sample(request, { numRuns: 1_000, seed: 4 })
    expect(aggregateInput(thousand)).toBe(asViem(thousand))
  })

  it('writes an address in capitals like every other', () => {
    const [small, capital] = ['ab', 'AB'].map(pair =>
      aggregateInput([{ kind: 'balance', address: `0x${pair.repeat(20)}` }]),
    )
    expect(capital).toBe(small)
  })
})

describe('its answer', () => {
  it('is cut into what viem decodes', () => {
    fc.assert(
      fc.property(amount, amount, fc.array(result, { maxLength: 40 }), (number, timestamp, results) => {
        const output = answerOf(number, timestamp, results)
        const decoded = decodeFunctionResult({ abi, functionName: 'aggregate3', data: output })
        expect(aggregated(output, results.length)).toEqual({
          seen: { number, timestampSeconds: timestamp, parentHash: word(parent) },
          answers: decoded.slice(3).map(({ success, returnData }) => {
            return { kind: success ? 'returned' : 'reverted', output: returnData }
          }),
        })
      }),
    )
  })

  it('of another number of reads is refused', () => {
    const output = answerOf(1n, 2n, [{ success: true, returnData: '0x12' }])
    expect([0, 1, 2].map(count => aggregated(output, count) !== undefined)).toEqual([false, true, false])
  })

  it('with a failed or odd certificate is refused', () => {
    const certified = { success: true, returnData: word(7n) }
    for (const odd of [
      { success: false, returnData: word(7n) },
      { success: true, returnData: '0x' as const },
    ]) {
      for (const pair of [
        [odd, certified],
        [certified, odd],
      ]) {
        const list = encodeFunctionResult({ abi, functionName: 'aggregate3', result: [...pair, certified] })
        expect(aggregated(list, 0)).toBeUndefined()
      }
      // A contract that stands in for Multicall3 may not know the hash of the block before.
      const withoutParent = encodeFunctionResult({
        abi,
        functionName: 'aggregate3',
        result: [certified, certified, odd],
      })
      expect(aggregated(withoutParent, 0)?.seen).toEqual({ number: 7n, timestampSeconds: 7n })
    }
  })

  it('is believed in one form only: with a changed digit it is refused, or says something else', () => {
    const spoilt = fc.tuple(fc.array(result, { maxLength: 5 }), fc.nat(), fc.constantFrom(...'0123456789abcdefgG x'))
    fc.assert(
      fc.property(spoilt, ([results, place, digit]) => {
        const output = answerOf(5n, 6n, results)
        const at = 2 + (place % (output.length - 2))
        fc.pre(output[at] !== digit)
        const changed: Hex = `0x${output.slice(2, at)}${digit}${output.slice(at + 1)}`
        const read = aggregated(changed, results.length)
        // Without the parent hash the list is another: that read failed.
        if (read?.seen.parentHash === undefined) return
        const again = read.answers.map(({ kind, output }) => ({ success: kind === 'returned', returnData: output }))
        const { number, timestampSeconds, parentHash } = read.seen
        expect(answerOf(number, timestampSeconds, again, BigInt(parentHash))).toBe(changed)
      }),
      { numRuns: 1_000 },
    )
  })

  it('that is cut anywhere, or goes on, is refused', () => {
    fc.assert(
      fc.property(fc.array(result, { maxLength: 5 }), fc.nat(), (results, place) => {
        const output = answerOf(5n, 6n, results)
        expect(aggregated(`0x${output.slice(2, 2 + (place % (output.length - 2)))}`, results.length)).toBeUndefined()
        for (const more of ['0'.repeat(64), '0', 'zz', ' ']) {
          expect(aggregated(`${output}${more}`, results.length)).toBeUndefined()
        }
      }),
    )
  })

  it('with lengths beyond its end is refused', () => {
    const output = answerOf(5n, 6n, [{ success: true, returnData: word(1n) }])
    const at = output.length - 128
    for (const length of [64n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 256n - 1n]) {
      const long: Hex = `0x${output.slice(2, at)}${word(length).slice(2)}${output.slice(at + 64)}`
      expect(aggregated(long, 1)).toBeUndefined()
    }
  })
})
