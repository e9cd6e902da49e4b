import { describe, expect, it } from 'vitest'
import { OtherHostReader } from '../../../src/chain/read/reader.ts'
import type { ReadRequest } from '../../../src/chain/reads.ts'
import { hourAfter } from '../../../src/model/hour.ts'
import { archive, archiveAnswers } from '../support/archive.ts'
import { answering } from '../support/node.ts'
import { firstHour, genesisSeconds, node, openChain, patient } from '../support/readers.ts'
import { scriptedChain } from '../support/scripted-chain.ts'

const chain = scriptedChain(10_000, number => genesisSeconds + 12 * number)
const hour = hourAfter(firstHour, 1)
const balance: ReadRequest = { kind: 'balance', address: `0x${'c0'.repeat(20)}` }

describe('an endpoint of another host', () => {
  it('is asked again about an hour that was in dispute, and about no other', async () => {
    const honest = archiveAnswers(chain)
    let isWrong = true
    // 127,920 in hexadecimal.
    const wrong = (answer: unknown) => (typeof answer === 'string' ? answer.replace('1f3b0', '1f3b1') : answer)
    const second = await node(
      answering((method, params) => {
        const answer = honest(method, params)
        return isWrong ? wrong(answer) : answer
      }),
    )
    const reader = openChain([(await node(archive(chain))).url, second.url.replace('127.0.0.1', 'localhost')])
    await reader.block(hour, patient)
    let excludedHost: string | undefined
    const other = new OtherHostReader('ethereum', reader, [{ servedBy: () => excludedHost }])
    const read = async () => (await other.read(hour, [balance], patient)).value.map(({ output }) => BigInt(output))
    expect(await read()).toEqual([127_921n])
    // As where a host is put into quarantine, and asked again later.
    excludedHost = 'a.example.com'
    expect(await read()).toEqual([127_921n])
    isWrong = false
    other.forget(hourAfter(hour, 1))
    expect(await read()).toEqual([127_921n])
    other.forget(hour)
    for (const host of ['a.example.com', undefined]) {
      excludedHost = host
      expect(await read()).toEqual([127_920n])
    }
  })
})
