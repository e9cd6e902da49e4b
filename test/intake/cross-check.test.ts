import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { CollectorConfig } from '../../src/config/config.ts'
import type { Collected } from '../../src/intake/collect.ts'
import { CrossCheck, disagreementOf } from '../../src/intake/cross-check.ts'
import { Fault } from '../../src/model/fault.ts'
import { metricId } from '../../src/model/metric.ts'
import type { RunOutcome } from '../../src/runner/runner.ts'
import { anHour } from '../support/metrics.ts'

const hash = (digit: string) => `0x${digit.repeat(64)}` as const
const pin = (chainId: number, digit = 'a') => ({
  chainId,
  block: { number: 7n, hash: hash(digit), timestampSeconds: 1 },
})

function outcome(readings: Readonly<Record<string, number>>, pins = [pin(1)]): RunOutcome {
  return { readings, failures: {}, pins }
}

/** The result of a run of which some labels are held for their jump, and some for their bounds. */
function collected(
  { readings, pins }: RunOutcome,
  jumps: readonly string[],
  beyond: readonly string[] = [],
): Collected {
  const accepted = Object.entries(readings).map(([label, value]) => {
    const metric = { id: metricId('pool', label), protocolId: 'pool', hour: anHour, value }
    const kind = jumps.includes(label) ? 'jump' : beyond.includes(label) ? 'bounds' : undefined
    return kind ? { metric, hold: { kind, reason: `${label} is odd` } as const } : { metric }
  })
  return { accepted, pins, failures: {} }
}

const collector = { id: 'pool/c', protocolId: 'pool' } as CollectorConfig

/** A cross-check of hosts with these answers, in their order. */
function check(answers: readonly (RunOutcome | Fault)[], chains = [{ id: 1, agree: 1 }]) {
  const lines: { msg: string; level: number }[] = []
  const asked: number[] = []
  const quarantined: number[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const elsewhere = answers.map((answer, place) => ({
    collect: async () => {
      asked.push(place)
      if (answer instanceof Fault) throw answer
      return answer
    },
  }))
  const compared = chains.map(({ id, agree }) => ({
    id,
    agree,
    name: `chain-${id}`,
    servedBy: () => `host-${id}`,
    quarantine: () => void quarantined.push(id),
  }))
  const crossCheck = new CrossCheck({ elsewhere, chains: compared, log })
  const confirmed = (one: RunOutcome, result: Collected) => crossCheck.confirmed(collector, anHour, one, result)
  return { confirmed, lines, asked, quarantined }
}

const holdsOf = ({ accepted }: Collected) => accepted.map(({ hold }) => hold?.reason)

describe('two runs', () => {
  it.each<[string, RunOutcome, RunOutcome, string[], number[]]>([
    ['agree', outcome({ A: 1, B: 2 }), outcome({ B: 2, A: 1 }), [], []],
    ['differ in the last bit', outcome({ A: 0.3 }), outcome({ A: 0.1 + 0.2 }), ['A'], []],
    ['differ where one has no value', outcome({ A: 1 }), outcome({ A: 1, B: 2 }), ['B'], []],
    ['differ in their block', outcome({ A: 1 }), outcome({ A: 1 }, [pin(1, 'b')]), [], [1]],
    ['agree about hashes in other letters', outcome({}, [pin(1, 'a')]), outcome({}, [pin(1, 'A')]), [], []],
  ])('%s', (_, one, other, labels, chainIds) => {
    expect(disagreementOf(one, other)).toEqual({ labels, chainIds })
  })
})

describe('a cross-check', () => {
  const jumped = outcome({ A: 200, B: 2 })

  it('asks no host where nothing jumps, and none about bounds', async () => {
    const { confirmed, asked } = check([outcome({ A: 200, B: 2 })])
    const plain = collected(jumped, [])
    expect(await confirmed(jumped, plain)).toBe(plain)
    const beyond = collected(jumped, [], ['A'])
    expect(await confirmed(jumped, beyond)).toBe(beyond)
    expect(asked).toEqual([])
  })

  it('asks no host about values that no chain gave', async () => {
    const { confirmed, asked } = check([jumped])
    const alone = outcome({ A: 200 }, [])
    expect(holdsOf(await confirmed(alone, collected(alone, ['A'])))).toEqual(['A is odd'])
    expect(asked).toEqual([])
  })

  it('releases a jump that another host confirms, and says so', async () => {
    const { confirmed, lines, quarantined } = check([outcome({ A: 200, B: 3 })])
    expect(holdsOf(await confirmed(jumped, collected(jumped, ['A'])))).toEqual([undefined, undefined])
    expect(lines.map(({ msg }) => msg)).toEqual(['a jump is confirmed by an endpoint of another host: it is sent'])
    expect(quarantined).toEqual([])
  })

  it('puts the endpoint into quarantine where another host answers otherwise, and gives nothing of the hour', async () => {
    const { confirmed, lines, quarantined } = check([outcome({ A: 100, B: 2 })])
    const end = await confirmed(jumped, collected(jumped, ['A']))
    expect(end).toMatchObject({ accepted: [], fault: { code: 'chain-disagreement', permanence: 'transient' } })
    expect(end.fault?.message).toContain('A: 200 and 100')
    expect(quarantined).toEqual([1])
    expect(lines).toHaveLength(1)
  })

  it('leaves a jump to a person where no other host answers, and says why', async () => {
    const { confirmed, quarantined } = check([new Fault('chain-unreachable', 'the other is down')])
    const [reason] = holdsOf(await confirmed(jumped, collected(jumped, ['A'])))
    expect(reason).toBe('A is odd; not confirmed by another host: the other is down')
    expect(quarantined).toEqual([])
  })

  it('leaves a jump to a person where it is not known whose endpoint is wrong', async () => {
    const one = outcome({ A: 200 }, [pin(1), pin(2)])
    const chains = [
      { id: 1, agree: 1 },
      { id: 2, agree: 1 },
    ]
    const values = check([outcome({ A: 1 }, [pin(1), pin(2)])], chains)
    expect(holdsOf(await values.confirmed(one, collected(one, ['A'])))[0]).toContain('disagree about')
    expect(values.quarantined).toEqual([])
    const blocks = check([outcome({ A: 1 }, [pin(1), pin(2, 'b')])], chains)
    await blocks.confirmed(one, collected(one, ['A']))
    expect(blocks.quarantined).toEqual([2])
  })

  it('asks as many hosts as must agree, at every hour', async () => {
    const calm = outcome({ A: 1 })
    const three = check([calm, calm], [{ id: 1, agree: 3 }])
    const plain = collected(calm, [])
    expect(await three.confirmed(calm, plain)).toBe(plain)
    expect(three.asked).toEqual([0, 1])
    const otherwise = check([calm, outcome({ A: 2 })], [{ id: 1, agree: 3 }])
    expect((await otherwise.confirmed(calm, plain)).fault?.code).toBe('chain-disagreement')
    const fewer = check([new Fault('chain-unreachable', 'it is down', { fix: 'start it' })], [{ id: 1, agree: 2 }])
    expect((await fewer.confirmed(calm, plain)).fault).toMatchObject({
      message: '2 hosts must agree, and not as many answer: it is down',
      fix: 'start it',
    })
  })
})
